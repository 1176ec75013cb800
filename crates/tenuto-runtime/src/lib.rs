//! The lab: processes, sockets, poll loops, live runs and reports.
