//! The environment `microvm`: a tenant's program in a machine with a kernel of its own.
//!
//! The machine's emulator is a process of the tenant's sandbox, in place of the program: it has no more rights, the
//! same limits, and ends with the same things. So two walls are around a tenant, and the supervisor knows one kind of
//! process only. What the guest is made of is read inside the sandbox too.
//!
//! ```text
//! guardian ═╪═ first process ── qemu-system-x86_64 ═╪═ kernel ── script ── program
//!  outside  │     sandbox                            │   guest
//! ```

mod archive;
mod emulator;
mod image;
mod kernel;
mod libraries;
mod run;
mod script;
mod words;

pub(crate) use kernel::Parts;
pub(crate) use run::run;
