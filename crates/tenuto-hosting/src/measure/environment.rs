//! In what a control plane of a measurement runs.

/// What is around a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Environment {
    /// Nothing but a network namespace, so that it has the same link.
    Native,
    /// The sandbox of a tenant, its groups but for that of processor time: the kernel lets no real-time
    /// thread into one.
    Sandbox,
}
