//! The plan as a file, and the two hashes that tie it together.
//!
//! **Canonical form.** Both hashes are of the compact JSON that `serde_json` writes: keys in the
//! order in which the fields are declared, maps sorted by key, integers in decimal, no spaces.
//! There are no floats, so the same value always gives the same bytes.

use crate::{Network, Plan};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The schema of plans that are written and read.
pub const PLAN_SCHEMA: &str = "tenuto-plan/2";

/// Largest plan that is read, bytes.
const PLAN_BYTES_MAX: usize = 1 << 30;

impl Plan {
    /// The plan as indented JSON, ending in a newline; every linear proof on a line of its own.
    ///
    /// # Panics
    /// Never: every map of a plan has texts as keys.
    pub fn to_json(&self) -> String {
        crate::proof_lines::text(self).expect("keys are texts")
    }

    /// Reads a plan; the hashes are not checked here, see [`Plan::verify_digest`].
    ///
    /// # Errors
    /// A sentence with line and column: not JSON, not a plan, or too large.
    pub fn from_json(text: &str) -> Result<Self, String> {
        if text.len() > PLAN_BYTES_MAX {
            return Err("the plan is too large to be read: at most 1 GB".to_owned());
        }
        let plan: Self = serde_json::from_str(text).map_err(|error| {
            format!("not a plan: {error}; make one with `tenuto plan NET -o PLAN`")
        })?;
        if plan.schema != PLAN_SCHEMA {
            let schema: String = plan.schema.chars().take(40).collect();
            return Err(format!(
                "the plan's schema is `{schema}`, this program reads `{PLAN_SCHEMA}`: plan again \
                 with `tenuto plan NET -o PLAN`"
            ));
        }
        Ok(plan)
    }

    /// Fills in the hash of the description, then that of the whole plan.
    pub fn seal(&mut self) {
        self.description_digest = network_digest(&self.network);
        self.plan_hash = self.hash_without_itself();
    }

    /// Whether the plan is the one that was sealed.
    ///
    /// # Errors
    /// Says which of the two hashes differs.
    pub fn verify_digest(&self) -> Result<(), String> {
        if self.description_digest != network_digest(&self.network) {
            return Err("the plan's description was changed after planning: plan again".to_owned());
        }
        if self.plan_hash != self.hash_without_itself() {
            return Err("the plan was changed after planning: plan again".to_owned());
        }
        Ok(())
    }

    fn hash_without_itself(&self) -> String {
        let bare = Self { plan_hash: String::new(), ..self.clone() };
        sha256_hex(&serde_json::to_string(&bare).expect("keys are texts"))
    }
}

/// SHA-256 of the canonical JSON of a network, in hex: what a plan carries as
/// `description_digest`.
///
/// # Panics
/// Never: every map of a network has texts as keys.
pub fn network_digest(network: &Network) -> String {
    sha256_hex(&serde_json::to_string(network).expect("keys are texts"))
}

fn sha256_hex(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string");
        hex
    })
}
