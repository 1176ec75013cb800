//! Switch, egress and end system as sans-I/O state machines.
