//! OpenFlow sessions, compilation of deployments and reconciliation, sans-I/O.
