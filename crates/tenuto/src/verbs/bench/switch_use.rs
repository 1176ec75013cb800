//! Service curve, buffer and allocations of a switch for one stated use (\[Loko\] sections 4 and 5).

use super::sheet::{Sheet, rounded};
use crate::failure::Failure;
use crate::load;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::Value;
use std::path::PathBuf;
use tenuto_model::{Action, MatchType, Profile, Use};
use tenuto_planner::loko::SwitchModel;

const MATCHES: [&str; 6] = ["port", "tp-dst", "dl-dst", "masked-nw-dst", "five-tuple", "all"];
const ACTIONS: [&str; 8] = [
    "output",
    "set-vlan-id",
    "set-vlan-pcp",
    "strip-vlan",
    "set-dl-src",
    "set-nw-src",
    "set-nw-tos",
    "set-tp-src",
];

/// The use that `service` is asked about.
#[derive(Debug, Args)]
pub(crate) struct SwitchUse {
    /// `service`: a built-in profile whose ports share a processor
    #[arg(
        long,
        value_name = "NAME",
        default_value = "zodiac-fx",
        help_heading = "Options of service"
    )]
    profile: String,
    /// `service`: the profiles of a network file instead
    #[arg(
        long,
        value_name = "NET",
        conflicts_with = "profile",
        help_heading = "Options of service"
    )]
    network: Option<PathBuf>,
    /// `service`: what entries match on
    #[arg(long = "match", value_name = "FIELDS", default_value = "five-tuple", value_parser = PossibleValuesParser::new(MATCHES).map(|text| index(&text, &MATCHES)), help_heading = "Options of service")]
    matching: usize,
    /// `service`: what is done before the output
    #[arg(long, value_name = "ACTION", default_value = "output", value_parser = PossibleValuesParser::new(ACTIONS).map(|text| index(&text, &ACTIONS)), help_heading = "Options of service")]
    action: usize,
    /// `service`: entries in the table, the last of which matches
    #[arg(long, value_name = "N", default_value_t = 17, help_heading = "Options of service")]
    entries: u32,
    /// `service`: frames with FCS, bytes
    #[arg(long, value_name = "B", default_value_t = 306, value_parser = clap::value_parser!(u32).range(64..=1518), help_heading = "Options of service")]
    frame: u32,
}

fn index(text: &str, names: &[&str]) -> usize {
    names.iter().position(|name| *name == text).unwrap_or_default()
}

/// A sheet for each profile.
pub(super) fn sheets(args: &SwitchUse) -> Result<Vec<Sheet>, Failure> {
    let profiles: Vec<Profile> = match &args.network {
        Some(path) => load::network(path)?.profiles.into_values().collect(),
        None => Profile::built_in(&args.profile).into_iter().collect(),
    };
    if profiles.is_empty() {
        let hint = tenuto_model::meant(&args.profile, Profile::BUILT_IN);
        let message = match &args.network {
            Some(_) => "the network has no switch".to_owned(),
            None => format!("there is no built-in profile `{}`", args.profile),
        };
        return Err(Failure::input(message, None, hint.as_deref()));
    }
    let sheets: Vec<Sheet> = profiles.iter().filter_map(|profile| sheet(args, profile)).collect();
    if sheets.is_empty() {
        let names: Vec<&str> = profiles.iter().map(|profile| profile.name.as_str()).collect();
        let message = format!("no processor is in front of the ports of {}", names.join(", "));
        let hint = "service is that of the processor that ports share: zodiac-fx, or --network with one of yours";
        return Err(Failure::input(message, None, Some(hint)));
    }
    Ok(sheets)
}

fn sheet(args: &SwitchUse, profile: &Profile) -> Option<Sheet> {
    let processor = profile.processor.as_ref()?;
    let (matching, action) = (MatchType::ALL[args.matching], Action::ALL[args.action]);
    let it = Use::worst(matching, action, args.entries, args.frame);
    let service = processor.service(&it);
    let title = format!(
        "{}: {} entries, {}, {}, frames of {} B",
        profile.name, args.entries, MATCHES[args.matching], ACTIONS[args.action], args.frame
    );
    let mut sheet = Sheet::new(title, &["quantity", "unit", "value"]);
    let mut row = |name: &str, unit: &str, value: Value| {
        sheet.push(vec![name.into(), unit.into(), value]);
    };
    let (mbps, ms) =
        (|bps: u64| rounded(bps as f64 / 1e6, 3), |ps: u64| rounded(ps as f64 / 1e9, 4));
    row("rate R", "Mbit/s", mbps(service.rate_bps));
    row("latency T", "ms", ms(service.latency_ps));
    row("control messages, of every window", "ms", ms(processor.control.time_ps));
    row("that window", "ms", ms(processor.control.period_ps));
    if let Some(buffer) = profile.receive_buffer {
        row("buffer", "frames", buffer.frames(args.frame).into());
    }
    let model = SwitchModel::of(profile, &it);
    for (name, k) in [("full-rate", 1), ("half-rate", 2), ("fifth-rate", 5)] {
        let Some(model) = &model else { break };
        match model.share(k) {
            Some(share) => {
                row(&format!("{name} rate"), "Mbit/s", mbps(share.rate_bps));
                row(&format!("{name} burst"), "B", share.burst_bytes.into());
                row(&format!("{name} delay"), "ms", ms(share.delay_ps));
            }
            None => row(name, "", "less than a frame fits".into()),
        }
    }
    sheet.note("the last entry matches, and priorities stand in the worst order");
    sheet.note("R and T are without control messages, which a plan charges besides");
    if profile.receive_buffer.is_none() {
        sheet.note("the profile states no buffer: there is no allocation");
    }
    Some(sheet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_profile_files_in_the_order_of_the_table() {
        for (name, kind) in MATCHES.into_iter().zip(MatchType::ALL) {
            assert_eq!(serde_json::to_value(kind).expect("a name"), name);
        }
        for (name, kind) in ACTIONS.into_iter().zip(Action::ALL) {
            assert_eq!(serde_json::to_value(kind).expect("a name"), name);
        }
    }
}
