//! What a tenant's program runs in.

use super::reader::{Field, Reader};
use super::tenant_text::{JudgeTenant, TenantText, judged};
use crate::yaml::Value;

/// What a tenant's program runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Environment {
    /// Namespaces, limits and filters of the host's kernel.
    Sandbox,
    /// A machine with a kernel of its own, inside such a sandbox.
    Microvm(Microvm),
}

impl Environment {
    /// What people call it in the file.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Microvm(_) => "microvm",
        }
    }
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Microvm {
    /// Its kernel, with the drivers of its package beside it; `None` for the newest one of the host.
    pub kernel: Option<String>,
}

impl Microvm {
    /// Memory of a guest, if the file does not say.
    pub const MEMORY_BYTES: u64 = 192_000_000;
    /// Least memory of a guest: kernel and busybox fit.
    pub(super) const MEMORY_BYTES_MIN: u64 = 64_000_000;
}

/// Reads `environment` and `kernel`, and what does not go with them.
pub(super) fn read_environment(
    reader: &mut Reader,
    field: &Field<'_>,
    judge: JudgeTenant<'_>,
) -> Environment {
    let kinds = [("sandbox", false), ("microvm", true)];
    let environment = field.get("environment");
    let is_machine = environment.as_ref().and_then(|it| reader.choice(it, &kinds)).unwrap_or(false);
    let kernel = field.get("kernel");
    if !is_machine {
        if let Some(kernel) = kernel {
            let hint = "write `environment: microvm`, or leave `kernel` out";
            reader.error(&kernel, "a sandbox has the host's kernel", hint);
        }
        return Environment::Sandbox;
    }
    if let Some(data) = field.get("data") {
        let hint = "leave `data` out: /data of a guest is in its memory";
        reader.error(&data, "a machine does not see folders of the host", hint);
    }
    let is_inline =
        |it: &Field<'_>| matches!(&it.node.value, Value::Text(text) if text == "inline");
    if let Some(receive) = field.get("receive").filter(|it| !is_inline(it)) {
        let hint = "leave `receive` out";
        reader.error(&receive, "a machine receives frames by its own kernel", hint);
    }
    let named = kernel.as_ref().and_then(|kernel| reader.text(kernel)).map(str::to_owned);
    let at = kernel.or(environment);
    if let Some(at) = at {
        judged(reader, &at, judge, TenantText::Kernel, named.as_deref().unwrap_or_default());
    }
    Environment::Microvm(Microvm { kernel: named })
}
