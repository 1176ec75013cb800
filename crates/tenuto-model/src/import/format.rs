//! The formats of other tools, and how a file of each is recognised.

use std::fmt;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImportFormat {
    /// WoPANets XML, the native dialect.
    Wopanets,
    /// WoPANets XML in the dialect of xTFA and Saihu: service and arrival curves.
    Xtfa,
    /// Saihu's output-port JSON.
    Saihu,
    /// The FIFO benchmark of RTNS 2022 as JSON.
    Rtns,
    /// NetCalBounds tandems.
    Netcalbounds,
    /// GraphML topologies.
    Graphml,
    /// GML topologies, as the Internet Topology Zoo has them.
    Gml,
    /// Topologies as JSON lists of nodes and links.
    NodeLists,
    /// TSNCF applications (time-triggered and AVB) for a GraphML topology.
    Applications,
    /// Virtual-link tables with partitions, classes and queues.
    VlTable,
    /// AFDX Designer projects.
    AfdxDesigner,
    /// The AFDX traffic generator of LIAS.
    Lias,
    /// TSNsched input.
    Tsnsched,
    /// The TAS benchmark of Tübingen.
    TasBenchmark,
    /// Message tables of a CAN bus, for a gateway.
    Can,
    /// ROS 2 topics.
    Ros2,
    /// Lists of links and flows of the time-sensitive SDN evaluations.
    Tssdn,
}

impl ImportFormat {
    /// Every format, in the order in which help lists them.
    pub const ALL: [Self; 17] = [
        Self::Wopanets,
        Self::Xtfa,
        Self::Saihu,
        Self::Rtns,
        Self::Netcalbounds,
        Self::Graphml,
        Self::Gml,
        Self::NodeLists,
        Self::Applications,
        Self::VlTable,
        Self::AfdxDesigner,
        Self::Lias,
        Self::Tsnsched,
        Self::TasBenchmark,
        Self::Can,
        Self::Ros2,
        Self::Tssdn,
    ];

    /// The word of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wopanets => "wopanets",
            Self::Xtfa => "xtfa",
            Self::Saihu => "saihu",
            Self::Rtns => "rtns",
            Self::Netcalbounds => "netcalbounds",
            Self::Graphml => "graphml",
            Self::Gml => "gml",
            Self::NodeLists => "node-lists",
            Self::Applications => "applications",
            Self::VlTable => "vl-table",
            Self::AfdxDesigner => "afdx-designer",
            Self::Lias => "lias",
            Self::Tsnsched => "tsnsched",
            Self::TasBenchmark => "tas-benchmark",
            Self::Can => "can",
            Self::Ros2 => "ros2",
            Self::Tssdn => "tssdn",
        }
    }

    /// What a file of it is, and what else is needed.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Wopanets => "WoPANets XML, native: a network",
            Self::Xtfa => "WoPANets XML of xTFA and Saihu (curves on nodes and flows): servers",
            Self::Saihu => "Saihu output-port JSON: servers",
            Self::Rtns => "JSON of the RTNS 2022 FIFO benchmark, without units: servers",
            Self::Netcalbounds => "NetCalBounds tandem, without units: servers",
            Self::Graphml => "GraphML topology: a network; --flows FILE.csv, --rate",
            Self::Gml => "GML topology: a network; --flows FILE.csv, --rate",
            Self::NodeLists => {
                "JSON lists of hosts, switches (or nodes) and links: a network; --flows, --rate"
            }
            Self::Applications => "TSNCF applications XML; --topology FILE.graphml, --rate",
            Self::VlTable => "CSV or YAML of AFDX virtual links; --rate, or --topology FILE",
            Self::AfdxDesigner => "AFDX Designer .afdxxml: a network",
            Self::Lias => "JSON of the LIAS AFDX generator: a network",
            Self::Tsnsched => "TSNsched JSON: a network",
            Self::TasBenchmark => "TAS benchmark JSON: a network",
            Self::Can => "CSV of CAN messages; --bus, --gateway, --target, --rate or --topology",
            Self::Ros2 => "CSV or YAML of ROS 2 topics; --rate, or --topology FILE",
            Self::Tssdn => "links.dat of time-sensitive SDN; --flows FILE, --rate, --cycle",
        }
    }

    /// Whether files of both are so alike that a mistake in one makes it look like the other.
    pub(super) const fn is_dialect_of(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Wopanets | Self::Xtfa, Self::Wopanets | Self::Xtfa)
                | (Self::Saihu | Self::Rtns, Self::Saihu | Self::Rtns)
        ) || self as u8 == other as u8
    }

    /// The format of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format that a text is of, by what it begins with and the words in it.
    pub fn detect(text: &str) -> Option<Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).trim_start();
        match text.chars().next()? {
            '<' => Self::detect_xml(text),
            '{' => Self::detect_json(text),
            '(' => Some(Self::Tssdn),
            _ => Self::detect_text(text),
        }
    }

    fn detect_xml(text: &str) -> Option<Self> {
        let has = |word: &str| text.contains(word);
        let is_curves = has("service-latency=") || has("service-rate=") || has("arrival-curve=");
        match () {
            () if has("<afdxxml") => Some(Self::AfdxDesigner),
            () if has("<graphml") => Some(Self::Graphml),
            () if has("<Applications") => Some(Self::Applications),
            () if has("<elements") && is_curves => Some(Self::Xtfa),
            () if has("<elements") => Some(Self::Wopanets),
            () => None,
        }
    }

    fn detect_json(text: &str) -> Option<Self> {
        let has = |word: &str| text.contains(&format!("\"{word}\""));
        match () {
            () if has("servers") && (has("service_curve") || has("arrival_curve")) => {
                Some(Self::Saihu)
            }
            () if has("servers") && has("flows") => Some(Self::Rtns),
            () if has("end_systems") && has("Flux") => Some(Self::Lias),
            () if has("streams") && has("links/ports") => Some(Self::TasBenchmark),
            () if has("devices") && has("switches") => Some(Self::Tsnsched),
            () if has("links") && (has("switches") || has("nodes")) && !has("flows") => {
                Some(Self::NodeLists)
            }
            () => None,
        }
    }

    fn detect_text(text: &str) -> Option<Self> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let header = lines.clone().find(|line| !line.starts_with('#')).unwrap_or_default();
        let lower = header.to_ascii_lowercase();
        match () {
            () if lines.any(|line| line.starts_with("graph") && line.ends_with('[')) => {
                Some(Self::Gml)
            }
            () if lower.starts_with("nservers") => Some(Self::Netcalbounds),
            () if lower.contains("transmission time") && lower.contains(',') => Some(Self::Can),
            () if lower.starts_with("topics:") || lower.starts_with("topic,") => Some(Self::Ros2),
            () if lower.contains("topic") && lower.contains("publisher") && lower.contains(',') => {
                Some(Self::Ros2)
            }
            () if text.contains("VL_ID") => Some(Self::VlTable),
            () if text.lines().any(|line| line.trim_end() == "virtual_links:") => {
                Some(Self::VlTable)
            }
            () => None,
        }
    }
}

impl fmt::Display for ImportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_lead_back() {
        for format in ImportFormat::ALL {
            assert_eq!(ImportFormat::by_name(format.name()), Some(format));
            assert!(!format.about().is_empty());
        }
    }

    #[test]
    fn a_text_says_what_it_is() {
        for (text, format) in [
            ("<?xml?><elements><flow period=\"1\"/></elements>", Some(ImportFormat::Wopanets)),
            ("\u{feff} <elements><switch service-rate=\"4Mbps\"/>", Some(ImportFormat::Xtfa)),
            ("{\"servers\": [{\"service_curve\": 1}]}", Some(ImportFormat::Saihu)),
            ("{\"flows\": [], \"servers\": []}", Some(ImportFormat::Rtns)),
            ("# three\nnservers 3", Some(ImportFormat::Netcalbounds)),
            ("# a graph\ngraph [\n node [", Some(ImportFormat::Gml)),
            ("ID,Transmission Time/us,Period/us", Some(ImportFormat::Can)),
            ("topic,publisher,subscribers", Some(ImportFormat::Ros2)),
            ("# VL_ID,Source\nV1,a,b", Some(ImportFormat::VlTable)),
            ("---\ntitle: x\nvirtual_links:\n  - vl_id: 1", Some(ImportFormat::VlTable)),
            ("{\"hosts\": [], \"switches\": [], \"links\": []}", Some(ImportFormat::NodeLists)),
            ("(h1 s1)", Some(ImportFormat::Tssdn)),
            ("tenuto: 1", None),
            ("{}", None),
            ("", None),
        ] {
            assert_eq!(ImportFormat::detect(text), format, "{text}");
        }
    }
}
