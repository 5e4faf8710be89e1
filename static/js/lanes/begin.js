/* Stands behind the first lanes, where the page brings them along: the chart is there and waits for them. */
(function () {
  "use strict";

  window.givewayLanes.shown.begin();
})();
