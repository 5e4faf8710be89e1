"""How the installation itself is doing: the doctor, metrics, health."""
