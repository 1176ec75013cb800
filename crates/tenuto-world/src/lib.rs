//! One transition system of cores, links, hosts and faults; drivers clockwork and explore.
