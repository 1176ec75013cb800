//! Numbers of the specification, grouped as it groups them; spec names in the docs.

/// The wire version of OpenFlow 1.3 (`OFP_VERSION`).
pub const OFP_VERSION: u8 = 0x04;
/// The length of the header of every message.
pub const OFP_HEADER_LEN: usize = 8;
/// The longest message that the 16-bit length field can announce.
pub const OFP_MESSAGE_LEN_MAX: usize = 65_535;
/// No packet is buffered in the switch (`OFP_NO_BUFFER`).
pub const NO_BUFFER: u32 = 0xffff_ffff;
/// Priority where nothing else is said (`OFP_DEFAULT_PRIORITY`).
pub const DEFAULT_PRIORITY: u16 = 0x8000;

/// Tenuto's experimenter id: "TENU". Not registered with the ONF.
pub const EXPERIMENTER_ID: u32 = 0x5445_4e55;

/// Declares a module of documented constants of one type.
macro_rules! numbers {
    ($($(#[$meta:meta])* $module:ident: $type:ty {
        $($(#[$nmeta:meta])* $name:ident = $value:expr;)*
    })*) => {
        $($(#[$meta])* pub mod $module {
            $($(#[$nmeta])* pub const $name: $type = $value;)*
        })*
    };
}

numbers! {
    /// Message types (`enum ofp_type`, section 7.1.1).
    message_type: u8 {
        /// `OFPT_HELLO`
        HELLO = 0;
        /// `OFPT_ERROR`
        ERROR = 1;
        /// `OFPT_ECHO_REQUEST`
        ECHO_REQUEST = 2;
        /// `OFPT_ECHO_REPLY`
        ECHO_REPLY = 3;
        /// `OFPT_EXPERIMENTER`
        EXPERIMENTER = 4;
        /// `OFPT_FEATURES_REQUEST`
        FEATURES_REQUEST = 5;
        /// `OFPT_FEATURES_REPLY`
        FEATURES_REPLY = 6;
        /// `OFPT_GET_CONFIG_REQUEST`
        GET_CONFIG_REQUEST = 7;
        /// `OFPT_GET_CONFIG_REPLY`
        GET_CONFIG_REPLY = 8;
        /// `OFPT_SET_CONFIG`
        SET_CONFIG = 9;
        /// `OFPT_PACKET_IN`
        PACKET_IN = 10;
        /// `OFPT_FLOW_REMOVED`
        FLOW_REMOVED = 11;
        /// `OFPT_PORT_STATUS`
        PORT_STATUS = 12;
        /// `OFPT_PACKET_OUT`
        PACKET_OUT = 13;
        /// `OFPT_FLOW_MOD`
        FLOW_MOD = 14;
        /// `OFPT_GROUP_MOD`
        GROUP_MOD = 15;
        /// `OFPT_PORT_MOD`
        PORT_MOD = 16;
        /// `OFPT_TABLE_MOD`
        TABLE_MOD = 17;
        /// `OFPT_MULTIPART_REQUEST`
        MULTIPART_REQUEST = 18;
        /// `OFPT_MULTIPART_REPLY`
        MULTIPART_REPLY = 19;
        /// `OFPT_BARRIER_REQUEST`
        BARRIER_REQUEST = 20;
        /// `OFPT_BARRIER_REPLY`
        BARRIER_REPLY = 21;
        /// `OFPT_QUEUE_GET_CONFIG_REQUEST`
        QUEUE_GET_CONFIG_REQUEST = 22;
        /// `OFPT_QUEUE_GET_CONFIG_REPLY`
        QUEUE_GET_CONFIG_REPLY = 23;
        /// `OFPT_ROLE_REQUEST`
        ROLE_REQUEST = 24;
        /// `OFPT_ROLE_REPLY`
        ROLE_REPLY = 25;
        /// `OFPT_GET_ASYNC_REQUEST`
        GET_ASYNC_REQUEST = 26;
        /// `OFPT_GET_ASYNC_REPLY`
        GET_ASYNC_REPLY = 27;
        /// `OFPT_SET_ASYNC`
        SET_ASYNC = 28;
        /// `OFPT_METER_MOD`
        METER_MOD = 29;
    }
    /// Reserved port numbers (`enum ofp_port_no`, section 7.2.1).
    port: u32 {
        /// The highest number of a physical or logical port (`OFPP_MAX`).
        MAX = 0xffff_ff00;
        /// Back out of the ingress port (`OFPP_IN_PORT`).
        IN_PORT = 0xffff_fff8;
        /// Through the flow tables, in packet-out only (`OFPP_TABLE`).
        TABLE = 0xffff_fff9;
        /// Processing outside of OpenFlow (`OFPP_NORMAL`).
        NORMAL = 0xffff_fffa;
        /// Flooding outside of OpenFlow (`OFPP_FLOOD`).
        FLOOD = 0xffff_fffb;
        /// Every standard port but the ingress port (`OFPP_ALL`).
        ALL = 0xffff_fffc;
        /// To the controller (`OFPP_CONTROLLER`).
        CONTROLLER = 0xffff_fffd;
        /// The switch's own networking stack (`OFPP_LOCAL`).
        LOCAL = 0xffff_fffe;
        /// No port, or any, where a message filters by port (`OFPP_ANY`).
        ANY = 0xffff_ffff;
    }
    /// Configuration of a port (`enum ofp_port_config`, section 7.2.1).
    port_config: u32 {
        /// Administratively down (`OFPPC_PORT_DOWN`).
        PORT_DOWN = 1 << 0;
        /// Drop what is received (`OFPPC_NO_RECV`).
        NO_RECV = 1 << 2;
        /// Drop what is to be sent (`OFPPC_NO_FWD`).
        NO_FWD = 1 << 5;
        /// Send no packet-in for table misses of this port (`OFPPC_NO_PACKET_IN`).
        NO_PACKET_IN = 1 << 6;
    }
    /// State of a port (`enum ofp_port_state`, section 7.2.1).
    port_state: u32 {
        /// No physical link (`OFPPS_LINK_DOWN`).
        LINK_DOWN = 1 << 0;
        /// Blocked (`OFPPS_BLOCKED`).
        BLOCKED = 1 << 1;
        /// Live for fast failover groups (`OFPPS_LIVE`).
        LIVE = 1 << 2;
    }
    /// Features of a port (`enum ofp_port_features`, section 7.2.1).
    port_feature: u32 {
        /// 10 Mbit/s half-duplex (`OFPPF_10MB_HD`).
        MB_10_HD = 1 << 0;
        /// 10 Mbit/s full-duplex (`OFPPF_10MB_FD`).
        MB_10_FD = 1 << 1;
        /// 100 Mbit/s half-duplex (`OFPPF_100MB_HD`).
        MB_100_HD = 1 << 2;
        /// 100 Mbit/s full-duplex (`OFPPF_100MB_FD`).
        MB_100_FD = 1 << 3;
        /// 1 Gbit/s half-duplex (`OFPPF_1GB_HD`).
        GB_1_HD = 1 << 4;
        /// 1 Gbit/s full-duplex (`OFPPF_1GB_FD`).
        GB_1_FD = 1 << 5;
        /// 10 Gbit/s full-duplex (`OFPPF_10GB_FD`).
        GB_10_FD = 1 << 6;
        /// 40 Gbit/s full-duplex (`OFPPF_40GB_FD`).
        GB_40_FD = 1 << 7;
        /// 100 Gbit/s full-duplex (`OFPPF_100GB_FD`).
        GB_100_FD = 1 << 8;
        /// 1 Tbit/s full-duplex (`OFPPF_1TB_FD`).
        TB_1_FD = 1 << 9;
        /// Another rate, given in `curr_speed` and `max_speed` (`OFPPF_OTHER`).
        OTHER = 1 << 10;
        /// Copper medium (`OFPPF_COPPER`).
        COPPER = 1 << 11;
        /// Fibre medium (`OFPPF_FIBER`).
        FIBER = 1 << 12;
        /// Auto-negotiation (`OFPPF_AUTONEG`).
        AUTONEG = 1 << 13;
        /// Pause (`OFPPF_PAUSE`).
        PAUSE = 1 << 14;
        /// Asymmetric pause (`OFPPF_PAUSE_ASYM`).
        PAUSE_ASYM = 1 << 15;
    }
    /// Reserved table numbers (`enum ofp_table`, section 7.3.4.1).
    table: u8 {
        /// The last usable table (`OFPTT_MAX`).
        MAX = 0xfe;
        /// Every table, where a message deletes or filters (`OFPTT_ALL`).
        ALL = 0xff;
    }
    /// Reserved group numbers (`enum ofp_group`, section 7.3.4.3).
    group: u32 {
        /// The last usable group (`OFPG_MAX`).
        MAX = 0xffff_ff00;
        /// Every group, in deletion only (`OFPG_ALL`).
        ALL = 0xffff_fffc;
        /// No group, or any, where a message filters by group (`OFPG_ANY`).
        ANY = 0xffff_ffff;
    }
    /// Reserved meter numbers (`enum ofp_meter`, section 7.3.4.5).
    meter: u32 {
        /// The last usable meter (`OFPM_MAX`).
        MAX = 0xffff_0000;
        /// The meter of the slow data path (`OFPM_SLOWPATH`).
        SLOWPATH = 0xffff_fffd;
        /// The meter of the controller connection (`OFPM_CONTROLLER`).
        CONTROLLER = 0xffff_fffe;
        /// Every meter, in statistics and deletion only (`OFPM_ALL`).
        ALL = 0xffff_ffff;
    }
    /// Reserved queue numbers (section 7.2.2).
    queue: u32 {
        /// Every queue of a port, in statistics only (`OFPQ_ALL`).
        ALL = 0xffff_ffff;
    }
    /// Lengths of the packet given to the controller (`enum ofp_controller_max_len`).
    controller_max_len: u16 {
        /// The largest number of bytes that can be asked for (`OFPCML_MAX`).
        MAX = 0xffe5;
        /// The whole packet, unbuffered (`OFPCML_NO_BUFFER`).
        NO_BUFFER = 0xffff;
    }
    /// Flags of a flow entry (`enum ofp_flow_mod_flags`, section 7.3.4.1).
    flow_flag: u16 {
        /// Send flow-removed when the entry goes (`OFPFF_SEND_FLOW_REM`).
        SEND_FLOW_REM = 1 << 0;
        /// Refuse an overlapping entry (`OFPFF_CHECK_OVERLAP`).
        CHECK_OVERLAP = 1 << 1;
        /// Reset the counters of a modified entry (`OFPFF_RESET_COUNTS`).
        RESET_COUNTS = 1 << 2;
        /// Keep no packet count (`OFPFF_NO_PKT_COUNTS`).
        NO_PKT_COUNTS = 1 << 3;
        /// Keep no byte count (`OFPFF_NO_BYT_COUNTS`).
        NO_BYT_COUNTS = 1 << 4;
    }
    /// Flags of a meter (`enum ofp_meter_flags`, section 7.3.4.5).
    meter_flag: u16 {
        /// Rate in kbit/s (`OFPMF_KBPS`).
        KBPS = 1 << 0;
        /// Rate in packets per second (`OFPMF_PKTPS`).
        PKTPS = 1 << 1;
        /// The burst size counts (`OFPMF_BURST`).
        BURST = 1 << 2;
        /// Collect statistics (`OFPMF_STATS`).
        STATS = 1 << 3;
    }
    /// Types of meter bands (`enum ofp_meter_band_type`, section 7.3.4.5).
    meter_band_type: u16 {
        /// Drop the packet (`OFPMBT_DROP`).
        DROP = 1;
        /// Raise the drop precedence of the DSCP field (`OFPMBT_DSCP_REMARK`).
        DSCP_REMARK = 2;
        /// Experimenter band (`OFPMBT_EXPERIMENTER`).
        EXPERIMENTER = 0xffff;
    }
    /// What a switch can do (`enum ofp_capabilities`, section 7.3.1).
    capability: u32 {
        /// Flow statistics (`OFPC_FLOW_STATS`).
        FLOW_STATS = 1 << 0;
        /// Table statistics (`OFPC_TABLE_STATS`).
        TABLE_STATS = 1 << 1;
        /// Port statistics (`OFPC_PORT_STATS`).
        PORT_STATS = 1 << 2;
        /// Group statistics (`OFPC_GROUP_STATS`).
        GROUP_STATS = 1 << 3;
        /// Reassembles IP fragments (`OFPC_IP_REASM`).
        IP_REASM = 1 << 5;
        /// Queue statistics (`OFPC_QUEUE_STATS`).
        QUEUE_STATS = 1 << 6;
        /// Blocks looping ports (`OFPC_PORT_BLOCKED`).
        PORT_BLOCKED = 1 << 8;
    }
    /// Flags of the switch configuration (`enum ofp_config_flags`, section 7.3.2).
    config_flag: u16 {
        /// No special handling of fragments (`OFPC_FRAG_NORMAL`).
        FRAG_NORMAL = 0;
        /// Drop fragments (`OFPC_FRAG_DROP`).
        FRAG_DROP = 1 << 0;
        /// Reassemble fragments (`OFPC_FRAG_REASM`).
        FRAG_REASM = 1 << 1;
    }
    /// Bits of the VLAN id in a match (`enum ofp_vlan_id`, section 7.2.3.7).
    vlan: u16 {
        /// Set with every VLAN id (`OFPVID_PRESENT`).
        PRESENT = 0x1000;
        /// No tag at all (`OFPVID_NONE`).
        NONE = 0;
    }
    /// Multipart types (`enum ofp_multipart_type`, section 7.3.5).
    multipart_type: u16 {
        /// `OFPMP_DESC`
        DESC = 0;
        /// `OFPMP_FLOW`
        FLOW = 1;
        /// `OFPMP_AGGREGATE`
        AGGREGATE = 2;
        /// `OFPMP_TABLE`
        TABLE = 3;
        /// `OFPMP_PORT_STATS`
        PORT_STATS = 4;
        /// `OFPMP_QUEUE`
        QUEUE = 5;
        /// `OFPMP_GROUP`
        GROUP = 6;
        /// `OFPMP_GROUP_DESC`
        GROUP_DESC = 7;
        /// `OFPMP_GROUP_FEATURES`
        GROUP_FEATURES = 8;
        /// `OFPMP_METER`
        METER = 9;
        /// `OFPMP_METER_CONFIG`
        METER_CONFIG = 10;
        /// `OFPMP_METER_FEATURES`
        METER_FEATURES = 11;
        /// `OFPMP_TABLE_FEATURES`
        TABLE_FEATURES = 12;
        /// `OFPMP_PORT_DESC`
        PORT_DESC = 13;
        /// `OFPMP_EXPERIMENTER`
        EXPERIMENTER = 0xffff;
    }
    /// Flags of multipart requests and replies (section 7.3.5).
    multipart_flag: u16 {
        /// More messages follow (`OFPMPF_REQ_MORE`, `OFPMPF_REPLY_MORE`).
        MORE = 1 << 0;
    }
    /// What a switch's groups can do (`enum ofp_group_capabilities`, section 7.3.5.9).
    group_capability: u32 {
        /// Weights in select groups (`OFPGFC_SELECT_WEIGHT`).
        SELECT_WEIGHT = 1 << 0;
        /// Liveness in select groups (`OFPGFC_SELECT_LIVENESS`).
        SELECT_LIVENESS = 1 << 1;
        /// Groups that forward to groups (`OFPGFC_CHAINING`).
        CHAINING = 1 << 2;
        /// Checks chains for loops and deletion (`OFPGFC_CHAINING_CHECKS`).
        CHAINING_CHECKS = 1 << 3;
    }
    /// Which IPv6 extension headers a packet has (`enum ofp_ipv6exthdr_flags`, section 7.2.3.8).
    ipv6_exthdr: u16 {
        /// No next header (`OFPIEH_NONEXT`).
        NONEXT = 1 << 0;
        /// Encrypted security payload (`OFPIEH_ESP`).
        ESP = 1 << 1;
        /// Authentication (`OFPIEH_AUTH`).
        AUTH = 1 << 2;
        /// One or two destination options (`OFPIEH_DEST`).
        DEST = 1 << 3;
        /// Fragment (`OFPIEH_FRAG`).
        FRAG = 1 << 4;
        /// Routing (`OFPIEH_ROUTER`).
        ROUTER = 1 << 5;
        /// Hop-by-hop options (`OFPIEH_HOP`).
        HOP = 1 << 6;
        /// An extension header came more often than it should (`OFPIEH_UNREP`).
        UNREP = 1 << 7;
        /// The headers are not in the order of RFC 2460 (`OFPIEH_UNSEQ`).
        UNSEQ = 1 << 8;
    }
    /// EtherTypes that prerequisites and tags name.
    ethertype: u16 {
        /// IPv4
        IPV4 = 0x0800;
        /// Address resolution
        ARP = 0x0806;
        /// IPv6
        IPV6 = 0x86dd;
        /// 802.1Q tag
        VLAN = 0x8100;
        /// 802.1ad tag
        SERVICE_VLAN = 0x88a8;
        /// MPLS label
        MPLS = 0x8847;
        /// MPLS label, upstream-assigned
        MPLS_MULTICAST = 0x8848;
        /// Provider backbone bridging, the service tag
        PBB = 0x88e7;
    }
    /// IP protocols that prerequisites name.
    ip_proto: u8 {
        /// ICMP
        ICMP = 1;
        /// TCP
        TCP = 6;
        /// UDP
        UDP = 17;
        /// ICMPv6
        ICMPV6 = 58;
        /// SCTP
        SCTP = 132;
    }
    /// Properties of queues (`enum ofp_queue_properties`, section 7.2.2).
    queue_property: u16 {
        /// Guaranteed rate (`OFPQT_MIN_RATE`).
        MIN_RATE = 1;
        /// Largest rate (`OFPQT_MAX_RATE`).
        MAX_RATE = 2;
        /// Experimenter property (`OFPQT_EXPERIMENTER`).
        EXPERIMENTER = 0xffff;
    }
    /// Rates of queues, in tenths of a percent of the port's (section 7.2.2).
    queue_rate: u16 {
        /// Larger values mean that the property is switched off.
        MAX = 1000;
        /// No rate is configured (`OFPQ_MIN_RATE_UNCFG`, `OFPQ_MAX_RATE_UNCFG`).
        UNCONFIGURED = 0xffff;
    }
}
