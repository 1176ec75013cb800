//! What a change to a field may do and still be believed; all that is not listed is to be refused.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// A bound: more, or none, claims less. Less is believed only as far as the planner took more
    /// than it needs: never by half of what it found.
    Bound,
    /// A least value: less claims less.
    Least,
    /// Claims in any order; a plan that is not feasible may say less, none says the same twice.
    Claims,
    /// Rows in any order, none of them missing or twice.
    Rows,
    /// What a row is about: of a plan that is not feasible another row may be true as well.
    Place,
    /// Feasible: a plan may be modest.
    Verdict,
    /// What the claims rest on: other assumptions are in the certificate.
    Assumed,
    /// Why a claim is true: any reason that holds will do.
    Witness,
    /// Tables: judged by what they do to frames, not by how they are written.
    Tables,
    /// More than the flow needs; behind hosts that may babble it is analysed as deployed.
    AtLeast,
    /// The description: another network, to be planned anew.
    Description,
    /// Told to people; no claim and no deployment.
    Told,
    /// To be refused.
    Never,
}

/// Longest prefix first where several fit.
const RULES: &[(&str, Rule)] = &[
    ("/version", Rule::Told),     // Of the program.
    ("/assumptions", Rule::Rows), // The checker's own words, in any order.
    ("/ranked", Rule::Told),      // How the planner found the classes that count.
    ("/flows/*/method", Rule::Told),
    ("/flows/*/copies/*/proof/method", Rule::Told),
    ("/routes/*/chosen", Rule::Told), // Why the planner liked it.
    ("/table_use", Rule::Told),       // Of a lost link: how much room the ways around take.
    ("/table_use/*/*/entries", Rule::Bound),
    ("/table_use/*/*/shadow", Rule::Bound),
    ("/table_use/*/*/meters", Rule::Bound),
    ("/refusals", Rule::Told), // What is refused is not promised; no reason makes it so.
    ("/description_digest", Rule::Told), // Made anew here.
    ("/plan_hash", Rule::Told), // Made anew here.
    ("/as_stated", Rule::Assumed),
    ("/line_shaping", Rule::Assumed),
    ("/staircases", Rule::Assumed),
    ("/model", Rule::Assumed),
    ("/feasible", Rule::Verdict),
    ("/flows", Rule::Rows),
    ("/flows/*/copies", Rule::Rows),
    ("/ports", Rule::Claims),
    ("/port_rows", Rule::Rows),
    ("/processors", Rule::Claims),
    ("/processor_rows", Rule::Rows),
    ("/routes", Rule::Rows),
    ("/mode_changes", Rule::Claims),
    ("/mode_changes/*/terms", Rule::Rows),
    ("/link_losses", Rule::Rows),
    ("/link", Rule::Rows), // The two ends of one that is lost.
    ("/port_rows/*/port/port", Rule::Place),
    // The plan's own window counts; it may be longer than what is asked for.
    ("/network/mode_return", Rule::Told),
    ("/hosts", Rule::Rows),
    ("/hosts/*/ports", Rule::Rows),
    ("/hosts/*/senders", Rule::Rows),
    ("/hosts/*/receivers", Rule::Rows),
    ("/switches", Rule::Rows),
    ("/switches/*/ports", Rule::Rows),
    ("/switches/*/meters", Rule::Rows),
    ("/switches/*/monitors", Rule::Rows),
    ("/flows/*/delay_bound_ps", Rule::Bound),
    ("/flows/*/skew_bound_ps", Rule::Bound),
    ("/flows/*/copies/*/delay_bound_ps", Rule::Bound),
    ("/flows/*/copies/*/delay_min_ps", Rule::Least),
    ("/flows/*/copies/*/hops/*/latency_ps", Rule::Bound),
    ("/flows/*/copies/*/hops/*/queueing_ps", Rule::Bound),
    ("/flows/*/copies/*/hops/*/propagation_ps", Rule::Bound),
    ("/flows/*/copies/*/hops/*/burst_bits", Rule::Bound),
    ("/flows/*/copies/*/proof", Rule::Witness),
    ("/ports/*/delay_ps", Rule::Bound),
    ("/processors/*/delay_ps", Rule::Bound),
    ("/port_rows/*/rate_bps", Rule::Bound),
    ("/port_rows/*/backlog_bound_bits", Rule::Bound),
    ("/processor_rows/*/load_ppm", Rule::Bound),
    ("/processor_rows/*/backlog_bound", Rule::Bound),
    ("/mode_changes/*/bound_ps", Rule::Bound),
    ("/mode_changes/*/terms/*/bound_ps", Rule::Bound),
    ("/mode_changes/*/drain_ps", Rule::Bound),
    ("/mode_changes/*/settled_ps", Rule::Bound),
    ("/mode_changes/*/rounds", Rule::Witness),
    ("/mode_changes/*/ended", Rule::Witness),
    ("/witnesses", Rule::Witness),
    // Without modes no signal is sent and no window is waited for.
    ("/quiet_ns", Rule::AtLeast),
    ("/signal_copies", Rule::AtLeast),
    ("/hosts/*/ports/*/queues", Rule::AtLeast),
    ("/switches/*/ports/*/queues", Rule::AtLeast),
    ("/switches/*/meters/*/rate_bps", Rule::AtLeast),
    ("/switches/*/meters/*/burst_bytes", Rule::AtLeast),
    ("/switches/*/monitors/*/contracts/*/jitter_ns", Rule::AtLeast),
    ("/switches/*/monitors/*/contracts/*/period_ns", Rule::Least),
    ("/switches/*/entries", Rule::Tables),
    ("/switches/*/groups", Rule::Tables),
    ("/network", Rule::Description),
];

/// Rules that hold for all below a field.
fn is_deep(rule: Rule) -> bool {
    matches!(rule, Rule::Told | Rule::Witness | Rule::Tables | Rule::Description)
}

pub(crate) fn rule(field: &str) -> Rule {
    let fits = |(prefix, rule): &&(&str, Rule)| {
        field == *prefix
            || (is_deep(*rule)
                && field.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/')))
    };
    let found = RULES.iter().filter(fits).max_by_key(|(prefix, _)| prefix.len());
    found.map_or(Rule::Never, |(_, rule)| *rule)
}
