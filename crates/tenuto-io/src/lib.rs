//! Ports, clocks and namespaces of Linux: the only crate with unsafe code.
