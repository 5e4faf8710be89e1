"""The cycle: observe, record, decide, intend, act, verify."""

from console.steering import sentences as sentences  # its lines are known before anybody says one
