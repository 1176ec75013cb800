//! Live runs of small networks in real namespaces. Where none are allowed, each says so and passes.
//!
//! The nodes of a lab are this very program, so it has its own `main` instead of the test harness.

mod deaths;
mod kill;
mod line;
mod mischief;
mod modes;
mod networks;
mod programs;

use std::process::ExitCode;

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("line::every_message_arrives", line::every_message_arrives),
    ("line::a_full_log_ends_nothing", line::a_full_log_ends_nothing),
    ("mischief::a_babbling_host_harms_nobody", mischief::a_babbling_host_harms_nobody),
    ("mischief::an_interrupted_run_ends_in_order", mischief::an_interrupted_run_ends_in_order),
    ("mischief::an_interrupted_set_up_ends_at_once", mischief::an_interrupted_set_up_ends_at_once),
    ("programs::a_program_sends_and_is_heard", programs::a_program_sends_and_is_heard),
    ("programs::refused_frames_are_explained", programs::refused_frames_are_explained),
    (
        "programs::every_datagram_of_a_flood_is_counted",
        programs::every_datagram_of_a_flood_is_counted,
    ),
    ("modes::the_mode_rises_and_returns", modes::the_mode_rises_and_returns),
    (
        "modes::a_controller_raises_the_mode_and_takes_it_back",
        modes::a_controller_raises_the_mode_and_takes_it_back,
    ),
    ("modes::switches_of_one_process_do_the_same", modes::switches_of_one_process_do_the_same),
    ("modes::switches_of_one_process_end_together", modes::switches_of_one_process_end_together),
    (
        "modes::a_controller_changes_switches_of_one_process",
        modes::a_controller_changes_switches_of_one_process,
    ),
    ("kill::a_killed_switch_does_not_end_the_run", kill::a_killed_switch_does_not_end_the_run),
    ("kill::a_switch_comes_back", kill::a_switch_comes_back),
    ("kill::a_cut_link_heals", kill::a_cut_link_heals),
    ("kill::a_lost_controller_is_tolerated", kill::a_lost_controller_is_tolerated),
    ("kill::a_killed_lab_leaves_nothing", kill::a_killed_lab_leaves_nothing),
    ("deaths::a_killed_node_breaks_the_run", deaths::a_killed_node_breaks_the_run),
    ("deaths::a_killed_lab_breaks_the_run", deaths::a_killed_lab_breaks_the_run),
    (
        "deaths::a_node_that_stands_still_breaks_the_run",
        deaths::a_node_that_stands_still_breaks_the_run,
    ),
    (
        "deaths::a_lab_that_stands_still_breaks_the_run",
        deaths::a_lab_that_stands_still_breaks_the_run,
    ),
    (
        "deaths::a_node_that_goes_on_leaves_the_run_undecided",
        deaths::a_node_that_goes_on_leaves_the_run_undecided,
    ),
    ("deaths::a_program_that_fails_breaks_the_run", deaths::a_program_that_fails_breaks_the_run),
    (
        "deaths::a_program_that_sends_nothing_shows_nothing",
        deaths::a_program_that_sends_nothing_shows_nothing,
    ),
];

fn main() -> ExitCode {
    if let Some(code) = tenuto_runtime::hidden_main(std::env::args_os()) {
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
