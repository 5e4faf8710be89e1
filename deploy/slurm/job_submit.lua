-- Giveway's part in slurmctld's job_submit/lua (Lua 5.1): docs/job-submit.md says how to install it.
--
-- Refuses, or tells about, a submission with a level keyword that its user may not use, or beyond its user's quota;
-- and a job that must not be requeued, of a user who may not have such jobs. A job that is to have nodes of equal
-- compute power begins some seconds later, so that Giveway can have it started on these.
-- What it knows stands in one small file that Giveway replaces whenever something changes. A file that is missing,
-- broken, cut short or old, and any error in here, lets everything through and is told in slurmctld's log.
-- For every submission and change that is let through it rings: Giveway then looks at once instead of in a while.

local RULES = os.getenv("GIVEWAY_SUBMIT_RULES") or "/var/lib/giveway/submit-rules"
local BELL = RULES .. ".bell"
local HEADER = "giveway-submit-rules 1"
local LARGEST = 8 * 1024 * 1024
local LONGEST_SHOWN = 100
local MOST_SHOWN = 8

-- --- Shell-style patterns, as Python's fnmatch reads them ------------------------------------------------------------
-- Matched by hand: a Lua pattern made from somebody's text would be a program of theirs, and could take for ever.

-- The characters of a text as numbers; a byte that is not UTF-8 stands for itself.
local function codes(text)
  local result, at = {}, 1
  while at <= #text do
    local first = text:byte(at)
    local more = first >= 0xF0 and 3 or first >= 0xE0 and 2 or first >= 0xC2 and 1 or 0
    local code = more == 3 and first % 8 or more == 2 and first % 16 or more == 1 and first % 32 or first
    for offset = 1, more do
      local byte = text:byte(at + offset)
      if not byte or byte < 0x80 or byte > 0xBF then
        more, code = 0, first
        break
      end
      code = code * 64 + byte % 64
    end
    result[#result + 1] = (more == 0 and first >= 0x80) and 0xDC00 + first or code
    at = at + 1 + more
  end
  return result
end

local STAR, QUESTION, OPEN, CLOSE, NOT, DASH = 42, 63, 91, 93, 33, 45

-- The set that begins behind `at` (a "["), and where it ends; nil when it does not end: then "[" is only a "[".
local function set_at(pattern, at)
  local first = at + 1
  local negated = pattern[first] == NOT
  if negated then first = first + 1 end
  local last = first
  if pattern[last] == CLOSE then last = last + 1 end
  while pattern[last] and pattern[last] ~= CLOSE do last = last + 1 end
  if not pattern[last] then return nil end
  local ranges, i = {}, first
  while i < last do
    if pattern[i + 1] == DASH and i + 2 < last then
      ranges[#ranges + 1] = { pattern[i], pattern[i + 2] }
      i = i + 3
    else
      ranges[#ranges + 1] = { pattern[i], pattern[i] }
      i = i + 1
    end
  end
  return { negated = negated, ranges = ranges }, last
end

-- A pattern as a list of: "*", "?", the number of a character, or a set.
local function compile(text)
  local pattern, result, at = codes(text), {}, 1
  while pattern[at] do
    local code = pattern[at]
    local set, last
    if code == OPEN then set, last = set_at(pattern, at) end
    if set then
      result[#result + 1], at = set, last
    elseif code == STAR then
      if result[#result] ~= "*" then result[#result + 1] = "*" end
    else
      result[#result + 1] = code == QUESTION and "?" or code
    end
    at = at + 1
  end
  return result
end

local function fits(part, code)
  if part == "?" or part == code then return true end
  if type(part) ~= "table" then return false end
  for _, range in ipairs(part.ranges) do
    if range[1] <= code and code <= range[2] then return not part.negated end
  end
  return part.negated
end

-- Whether the whole of `name` (codes) is of the compiled pattern. Only the last star is tried again: no explosion.
local function matches(pattern, name)
  local i, j, star, tried = 1, 1, nil, nil
  while j <= #name do
    if pattern[i] == "*" then
      star, tried, i = i, j, i + 1
    elseif pattern[i] ~= nil and fits(pattern[i], name[j]) then
      i, j = i + 1, j + 1
    elseif star then
      tried = tried + 1
      i, j = star + 1, tried
    else
      return false
    end
  end
  while pattern[i] == "*" do i = i + 1 end
  return pattern[i] == nil
end

-- --- The file ------------------------------------------------------------------------------------------------------

local function decoded(word)
  local text = word:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  return text
end

local function whole(word)
  local number = word and word:match("^%d+$") and tonumber(word)
  return number or error("no number: " .. tostring(word), 0)
end

local function one_of(word, ...)
  for _, allowed in ipairs({ ... }) do
    if word == allowed then return word end
  end
  error("unknown word: " .. tostring(word), 0)
end

local function text_of(word)
  return word and decoded(word) or error("a word is missing", 0)
end

-- The patterns of users from a word of a line on: compiled, and as they are shown. No user name holds a colon: it
-- stands where there is nobody.
local function users_of(words, first)
  local users = { shown = {} }
  for i = first, #words do
    local pattern = decoded(words[i])
    users[#users + 1] = compile(pattern)
    if pattern ~= ":" then table.insert(users.shown, pattern) end
  end
  return users
end

local LINES = {}

function LINES.written(rules, words) rules.written = whole(words[2]) end

function LINES.valid(rules, words) rules.valid = whole(words[2]) end

-- Behind the cluster's name, which is for people, may stand a task type: its partition, the pattern of its names, and
-- what is filled in where a request leaves it out; or that a partition has jobs placed: which ("all" of several
-- processors, or who asks), by how many seconds they begin later, and patterns of names that ask for it; or under which
-- name and account Giveway's own measurements come. Scripts that do not know these words take no notice of what stands
-- there.
function LINES.cluster(rules, words)
  if words[3] == "measures" then rules.measures = { name = text_of(words[4]), user = text_of(words[5]) } end
  if words[3] == "place" then
    local place = { whom = one_of(words[5], "all", "asked"), seconds = whole(words[6]), patterns = {} }
    for i = 7, #words do table.insert(place.patterns, compile(decoded(words[i]))) end
    rules.places[text_of(words[4])] = place
  end
  if words[3] ~= "type" then return end
  local name = text_of(words[4])
  rules.types[name] = rules.types[name] or {}
  table.insert(rules.types[name], {
    shown = decoded(words[5]), pattern = compile(text_of(words[5])), cpus = whole(words[6]), gpus = whole(words[7]),
    memory = whole(words[8]), minutes = whole(words[9]), gpu_word = one_of(words[10], "gres:gpu", "gres/gpu", "-"),
  })
end

-- Behind the enforcement may stand "requeueable" and who is exempt from it. Scripts that do not know that word take no
-- notice of what stands there.
function LINES.partition(rules, words)
  rules.now = {
    name = text_of(words[2]), enforcement = one_of(words[3], "shadow", "approve", "enforce"),
    requeueable = words[4] == "requeueable" and users_of(words, 5) or nil,
    denied = "demote", over_quota = "lowest", levels = {}, keywords = {}, overrides = {}, quotas = {}, running = {},
  }
  rules.partitions[rules.now.name] = rules.now
end

function LINES.level(rules, words) rules.now.levels[whole(words[2])] = text_of(words[3]) end

function LINES.keyword(rules, words)
  table.insert(rules.now.keywords, { word = text_of(words[2]), level = whole(words[3]), users = users_of(words, 4) })
end

function LINES.denied(rules, words) rules.now.denied = one_of(words[2], "demote", "refuse") end

function LINES.override(rules, words)
  table.insert(rules.now.overrides, { pattern = compile(text_of(words[2])), level = whole(words[3]) })
end

function LINES.over_quota(rules, words) rules.now.over_quota = one_of(words[2], "lowest", "hold", "reject") end

function LINES.quota(rules, words) rules.now.quotas[whole(words[2])] = whole(words[3]) end

function LINES.running(rules, words)
  local user, level = text_of(words[2]), whole(words[3])
  rules.now.running[level] = rules.now.running[level] or {}
  rules.now.running[level][user] = whole(words[4])
end

-- The rules in a text; an error in words when it is not whole.
local function parse(text)
  local lines = {}
  for line in text:gmatch("([^\n]*)\n") do lines[#lines + 1] = line end
  if lines[1] ~= HEADER then error("it does not begin with \"" .. HEADER .. "\"", 0) end
  if text:sub(-1) ~= "\n" or lines[#lines] ~= "end " .. (#lines - 1) then error("it is cut short", 0) end
  local rules = { partitions = {}, types = {}, places = {} }
  for number = 2, #lines - 1 do
    local words = {}
    for word in lines[number]:gmatch("%S+") do words[#words + 1] = word end
    local read = LINES[words[1] or ""]
    local fine, why = pcall(read or function() error("unknown line", 0) end, rules, words)
    if not fine then error("line " .. number .. ": " .. tostring(why), 0) end
  end
  if not rules.written or not rules.valid then error("it does not say when it was written", 0) end
  return rules
end

local function read_file()
  local file, why = io.open(RULES, "rb")
  if not file then error("cannot be read: " .. tostring(why), 0) end
  local text, unreadable = file:read(LARGEST + 1)
  file:close()
  if unreadable then error("cannot be read: " .. tostring(unreadable), 0) end
  if not text then error("is empty", 0) end
  if #text > LARGEST then error("has more than " .. LARGEST .. " bytes", 0) end
  return text
end

-- --- What slurmctld's log is told: each thing once ------------------------------------------------------------------

local told = {}

local function report(about, words)
  if told[about] == words then return end
  local before = told[about]
  told[about] = words
  if words ~= "" then
    slurm.log_error("%s", "giveway: " .. words .. "; submissions are let through unchecked")
  elseif before then
    slurm.log_info("%s", "giveway: " .. RULES .. " is read again")
  end
end

local known_text, known_rules, known_fault

-- The rules in force; nil when there are none that count. The file is read each time, and understood when it changed.
local function current_rules()
  local fine, text = pcall(read_file)
  if not fine then
    report("file", RULES .. " " .. tostring(text))
    return nil
  end
  if text ~= known_text then
    local understood, result = pcall(parse, text)
    known_text, known_rules = text, understood and result or nil
    known_fault = not understood and RULES .. " is broken: " .. tostring(result) or nil
  end
  if known_fault then
    report("file", known_fault)
    return nil
  end
  if os.time() - known_rules.written > known_rules.valid then
    report("file", RULES .. " was written more than " .. known_rules.valid .. " s ago")
    return nil
  end
  report("file", "")
  return known_rules
end

-- --- The decision ----------------------------------------------------------------------------------------------------

-- Somebody's text on one line, not too long.
local function shown(text)
  text = tostring(text):gsub("%c", "?")
  return #text > LONGEST_SHOWN and text:sub(1, LONGEST_SHOWN) .. "..." or text
end

local function listed(names)
  local result = {}
  for i = 1, math.min(#names, MOST_SHOWN) do result[i] = shown(names[i]) end
  if #names > MOST_SHOWN then result[#result + 1] = (#names - MOST_SHOWN) .. " more" end
  return table.concat(result, ", ")
end

local function named(users) return #users.shown > 0 and listed(users.shown) or "nobody" end

-- Whether a job's name is the keyword, or the keyword and then anything but a letter or digit. What is not ASCII
-- counts as a letter.
local function begins(name, keyword)
  if name:sub(1, #keyword) ~= keyword then return false end
  local after = name:byte(#keyword + 1)
  if not after then return true end
  local digit, upper = after >= 48 and after <= 57, after >= 65 and after <= 90
  return not (digit or upper or after >= 97 and after <= 122 or after >= 128)
end

local function is_among(users, user)
  for _, pattern in ipairs(users) do
    if matches(pattern, user) then return true end
  end
  return false
end

local function may_use(keyword, user) return #keyword.users == 0 or is_among(keyword.users, user) end

-- The task level that a name has by an override or a keyword, as far as that can be said here, and the first keyword
-- that is not its user's.
local function level_of(partition, user, name)
  local name_codes, user_codes, denied = codes(name), codes(user), nil
  for _, override in ipairs(partition.overrides) do
    if matches(override.pattern, name_codes) then return override.level, nil end
  end
  for _, keyword in ipairs(partition.keywords) do
    if begins(name, keyword.word) then
      if may_use(keyword, user_codes) then return keyword.level, denied end
      denied = denied or keyword
    end
  end
  return nil, denied
end

local OVER = {
  lowest = "this job counts as unconfigured while that is so: it takes free room only and is the first to make room",
  hold = "this job is held while that is so",
  reject = "jobs beyond it are refused",
}

-- What is to be said about a job that must not be requeued.
local function judge_requeue(partition, user)
  local exempt = partition.requeueable
  if not exempt or is_among(exempt, codes(user)) then return {} end
  local words = string.format(
    "jobs of %s in partition %s have to be requeueable (--no-requeue is for: %s); leave out --no-requeue, and Requeue=0",
    shown(user), shown(partition.name), named(exempt))
  return { { words = words, refused = slurm.ESLURM_ACCESS_DENIED or slurm.ERROR } }
end

-- What is to be said about a job in one partition: a list of { words, refused = an error code or nil }.
local function judge(partition, user, name, level_before)
  local level, denied = level_of(partition, user, name)
  local result = {}
  if denied then
    local refuse = partition.denied == "refuse"
    local words = string.format(
      "the keyword %s of partition %s is not %s's to use (it is for: %s); %s", shown(denied.word),
      shown(partition.name), shown(user), named(denied.users),
      refuse and "give the job another name" or "it counts for nothing")
    result[1] = { words = words, refused = refuse and (slurm.ESLURM_ACCESS_DENIED or slurm.ERROR) or nil }
  end
  local most = level and level ~= level_before and partition.quotas[level]
  local running = most and (partition.running[level] or {})[user] or 0
  if most and running >= most then
    local words = string.format(
      "%s has %d jobs of level %s running in partition %s, and the quota is %d; %s", shown(user), running,
      shown(partition.levels[level] or level), shown(partition.name), most, OVER[partition.over_quota])
    local refuse = partition.over_quota == "reject"
    table.insert(result, { words = words, refused = refuse and (slurm.ESLURM_ACCOUNTING_POLICY or slurm.ERROR) or nil })
  end
  return result
end

-- The names in "x,q"; without any, the default partition's.
local function partitions_named(text, part_list)
  local result = {}
  for name in (text or ""):gmatch("[^,%s]+") do result[#result + 1] = name end
  if #result == 0 then
    for name, partition in pairs(part_list or {}) do
      if partition.flag_default == 1 then result[1] = name end
    end
  end
  return result
end

-- The answer to slurmctld. `job.name`: nil when neither name nor partition are new. `job.once`: it is not to be requeued.
-- `before(partition)`: the level that the job has there already, which its quota counts.
local function answer(job, tell, before)
  local rules = current_rules()
  if not rules or not job.user then return slurm.SUCCESS end
  local refused
  for _, name in ipairs(job.partitions) do
    local partition = rules.partitions[name]
    local found = partition and job.name and judge(partition, job.user, job.name, before(partition)) or {}
    for _, each in ipairs(partition and job.once and judge_requeue(partition, job.user) or {}) do
      found[#found + 1] = each
    end
    for _, each in ipairs(found) do
      if partition.enforcement ~= "enforce" then
        if each.refused then slurm.log_info("%s", "giveway: would refuse, were it enforced: " .. each.words) end
      else
        tell("giveway: " .. each.words)
        if each.refused then slurm.log_info("%s", "giveway: refused: " .. each.words) end
        refused = refused or each.refused
      end
    end
  end
  return refused or slurm.SUCCESS
end

-- Slurm's number for "no"; for "not said" it has another one.
local function is_no(number) return tonumber(number) == 0 end

-- --- Task types -------------------------------------------------------------------------------------------------------

-- Slurm's numbers for "not said" are the largest of each width but one: 16, 32 and 64 bits. The last is no exact number
-- in Lua, so it is told by its size.
local function is_said(number)
  number = tonumber(number)
  return number ~= nil and number ~= 65534 and number ~= 4294967294 and number < 18446744073709549568
end

local GPU_KEYS = { "tres_per_node", "tres_per_job", "tres_per_socket", "tres_per_task", "gres" }

local function asks_gpus(job_desc)
  for _, key in ipairs(GPU_KEYS) do
    local text = job_desc[key]
    if text and text:find("gpu", 1, true) then return true end
  end
  return false
end

-- Fill in what the request leaves out; the words that say what, or nil.
local function fill(job_desc, kind)
  local given = {}
  if kind.cpus > 0 and not is_said(job_desc.cpus_per_task) and not is_said(job_desc.num_tasks) then
    job_desc.cpus_per_task = kind.cpus
    job_desc.min_cpus = kind.cpus
    given[#given + 1] = kind.cpus .. " CPUs"
  end
  if kind.gpus > 0 and kind.gpu_word ~= "-" and not asks_gpus(job_desc) then
    local others = job_desc.tres_per_node and job_desc.tres_per_node .. "," or ""
    job_desc.tres_per_node = others .. kind.gpu_word .. ":" .. kind.gpus
    given[#given + 1] = kind.gpus .. " GPUs"
  end
  if kind.memory > 0 and not is_said(job_desc.pn_min_memory) then
    job_desc.pn_min_memory = kind.memory
    given[#given + 1] = kind.memory .. " MB"
  end
  if kind.minutes > 0 and not is_said(job_desc.time_limit) then
    job_desc.time_limit = kind.minutes
    given[#given + 1] = kind.minutes .. " minutes"
  end
  return #given > 0 and table.concat(given, ", ") or nil
end

-- A job that names several partitions is filled in by the first that has such a task type.
local function fill_by_type(job_desc, job, tell)
  local rules = current_rules()
  if not rules then return end
  local name = codes(job.name)
  for _, partition in ipairs(job.partitions) do
    for _, kind in ipairs(rules.types[partition] or {}) do
      if matches(kind.pattern, name) then
        local given = fill(job_desc, kind)
        if given then tell("giveway: task type " .. shown(kind.shown) .. ": " .. given .. " filled in") end
        return
      end
    end
  end
end

-- --- Placing ---------------------------------------------------------------------------------------------------------

local PLACE_MARK = "giveway-place:"
local LATEST = 120

-- Whether a request is for several processors, as far as that can be said here: Giveway gives back whom it does not place.
local function asks_for_several(job_desc)
  for _, key in ipairs({ "min_nodes", "num_tasks" }) do
    if is_said(job_desc[key]) and tonumber(job_desc[key]) > 1 then return true end
  end
  for _, key in ipairs(GPU_KEYS) do
    for count in (job_desc[key] or ""):gmatch("gpu[^,]*[:=](%d+)") do
      if tonumber(count) > 1 then return true end
    end
  end
  return false
end

local function asks_to_be_placed(job_desc, name, place)
  for word in (job_desc.comment or ""):gmatch("[^%s;]+") do
    if word == "balanced" then return true end
  end
  for _, pattern in ipairs(place.patterns) do
    if matches(pattern, name) then return true end
  end
  return place.whom == "all"
end

-- A batch job in one partition that could begin at once. Slurm's numbers for "not said" are larger than any moment.
local function may_be_placed(job_desc, job)
  local begin = tonumber(job_desc.begin_time) or 0
  if is_said(begin) and begin > os.time() then return false end
  local part = job_desc.array_inx or job_desc.dependency or job_desc.reservation or is_said(job_desc.het_job_offset)
  local held = tonumber(job_desc.priority) == 0
  return (job_desc.script or "") ~= "" and #job.partitions == 1 and not part and not held
end

-- Let a job that Giveway is to place begin a little later, with a mark that its user cannot set: the moment.
local function put_off(job_desc, job, tell)
  local rules = current_rules()
  local place = rules and rules.places[job.partitions[1]]
  if not place or place.seconds > LATEST or not asks_for_several(job_desc) then return end
  if not asks_to_be_placed(job_desc, codes(job.name), place) then return end
  if job_desc.array_inx then
    tell("giveway: tasks of an array are not placed on nodes of equal compute power: Slurm starts each where it has room")
  end
  if not may_be_placed(job_desc, job) then return end
  local moment = os.time() + place.seconds
  job_desc.begin_time = moment
  job_desc.admin_comment = PLACE_MARK .. string.format("%d", moment)
  tell("giveway: it starts on nodes of equal compute power; until these are free Slurm says BeginTime")
end

-- --- The bell --------------------------------------------------------------------------------------------------------

-- What the bell says is when it was last written. What stands in it is written back, so that a link put in its place
-- spoils no other file. "r+" makes no file and does not wait for a reader; a pipe or a terminal, which may be full or
-- silent, cannot be sought in and is left alone.
local function ring()
  local bell = io.open(BELL, "r+")
  if not bell then return end
  if bell:seek("end") then
    bell:seek("set")
    local first = bell:read(1) or "\n"
    bell:seek("set")
    bell:write(first)
  end
  bell:close()
end

-- The answer to slurmctld, and the bell where it lets something through. Nobody may be listening: that is no error.
local function rung(answer)
  if answer == slurm.SUCCESS then pcall(ring) end
  return answer
end

-- An error in here is ours, never the user's.
local function guarded(work)
  local fine, result = pcall(work)
  if fine then return result end
  pcall(report, "error", "error in job_submit.lua: " .. tostring(result))
  return slurm.SUCCESS
end

-- Whether it is a measurement of compute power: by its name, and by its account, which nobody else can have. It ends
-- for whoever waits, so no rule about jobs is for it.
local function is_measurement(job_desc)
  local rules = current_rules()
  local ours = rules and rules.measures
  return ours and job_desc.name == ours.name and job_desc.user_name == ours.user
end

-- `_submit_uid` may be root's: what counts is whose job it is.
function slurm_job_submit(job_desc, part_list, _submit_uid)
  return rung(guarded(function()
    if is_measurement(job_desc) then return slurm.SUCCESS end
    local job = {
      user = job_desc.user_name, name = job_desc.name or "", once = is_no(job_desc.requeue),
      partitions = partitions_named(job_desc.partition, part_list),
    }
    local function tell(words) slurm.log_user("%s", words) end
    local decided = answer(job, tell, function() return nil end)
    if decided == slurm.SUCCESS then
      fill_by_type(job_desc, job, tell)
      put_off(job_desc, job, tell)
    end
    return decided
  end))
end

-- Another name or partition is a submission anew; of the rest only Requeue=0 is looked at. Slurm does not tell whether
-- the job is requeueable now, and gives no way to tell the user more than the error: the words go to the log only.
function slurm_job_modify(job_desc, job_rec, part_list, _modify_uid)
  return rung(guarded(function()
    local name, where = job_desc.name or job_rec.name or "", job_desc.partition or job_rec.partition
    local same, once = name == (job_rec.name or "") and where == job_rec.partition, is_no(job_desc.requeue)
    if same and not once then return slurm.SUCCESS end
    local user = job_desc.user_name or job_rec.user_name
    local was_in = {}
    for _, each in ipairs(partitions_named(job_rec.partition, {})) do was_in[each] = true end
    local function before(partition)
      return was_in[partition.name] and level_of(partition, user, job_rec.name or "") or nil
    end
    local job = {
      user = user, name = not same and name or nil, once = once, partitions = partitions_named(where, part_list),
    }
    return answer(job, function() end, before)
  end))
end

return slurm.SUCCESS
