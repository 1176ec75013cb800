//! Real sandboxes on this machine, under attack. Needs root or user namespaces; where neither is allowed
//! each test says so and passes.
//!
//! Sandboxes are this very program, and so are attackers inside them.

mod attackers;
mod life;
mod machines;
mod measured;
mod network;
mod stage;
mod threats;

use std::process::ExitCode;

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("life::tenants_start_are_seen_and_stop", life::tenants_start_are_seen_and_stop),
    ("life::an_end_touches_nobody_else", life::an_end_touches_nobody_else),
    ("life::an_upgrade_touches_nobody_else", life::an_upgrade_touches_nobody_else),
    ("life::a_killed_supervisor_leaves_nothing", life::a_killed_supervisor_leaves_nothing),
    ("life::a_program_that_cannot_run_is_told", life::a_program_that_cannot_run_is_told),
    ("life::without_root_it_runs_and_says_so", life::without_root_it_runs_and_says_so),
    ("threats::a_tenant_sees_only_itself", threats::a_tenant_sees_only_itself),
    ("threats::nothing_is_written_outside", threats::nothing_is_written_outside),
    ("threats::rights_are_refused", threats::rights_are_refused),
    ("threats::a_fork_bomb_ends_at_its_limit", threats::a_fork_bomb_ends_at_its_limit),
    ("threats::a_memory_hog_is_killed_alone", threats::a_memory_hog_is_killed_alone),
    ("threats::a_huge_log_is_bounded", threats::a_huge_log_is_bounded),
    ("network::switches_reach_the_controller", network::switches_reach_the_controller),
    ("network::each_receive_path_is_had_or_told", network::each_receive_path_is_had_or_told),
    ("network::controllers_of_others_say_hello", network::controllers_of_others_say_hello),
    ("network::another_tenant_is_not_reached", network::another_tenant_is_not_reached),
    ("network::a_flood_ends_at_its_rate", network::a_flood_ends_at_its_rate),
    ("network::a_spoofed_source_is_dropped", network::a_spoofed_source_is_dropped),
    (
        "machines::a_program_runs_in_a_machine_of_its_own",
        machines::a_program_runs_in_a_machine_of_its_own,
    ),
    (
        "machines::switches_reach_a_controller_in_a_machine",
        machines::switches_reach_a_controller_in_a_machine,
    ),
    (
        "machines::a_machine_that_dies_touches_nobody_else",
        machines::a_machine_that_dies_touches_nobody_else,
    ),
    (
        "machines::a_kernel_that_panics_is_told_and_touches_nobody_else",
        machines::a_kernel_that_panics_is_told_and_touches_nobody_else,
    ),
    ("measured::every_series_has_its_rows", measured::every_series_has_its_rows),
    (
        "measured::auto_is_what_was_measured_and_is_kept",
        measured::auto_is_what_was_measured_and_is_kept,
    ),
];

fn main() -> ExitCode {
    if let Some(code) = tenuto_hosting::hidden_main(std::env::args_os()) {
        return code;
    }
    if let Some(code) = attackers::main().or_else(stage::supervisor_main) {
        return code;
    }
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    if std::env::args().any(|a| a == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let mut failed = 0;
    for (name, test) in TESTS {
        if !wanted.is_empty() && !wanted.iter().any(|w| name.contains(w.as_str())) {
            continue;
        }
        println!("test {name} ...");
        let outcome = std::panic::catch_unwind(test);
        println!("test {name} ... {}", if outcome.is_ok() { "ok" } else { "FAILED" });
        failed += u32::from(outcome.is_err());
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
