//! Error types and codes (OpenFlow 1.3.5, section 7.4.4).

use std::fmt;

/// Declares the families of error codes and their union.
macro_rules! error_families {
    ($($(#[$meta:meta])* $family:ident = $type:literal {
        $($(#[$vmeta:meta])* $code:ident = $value:literal $text:literal,)*
    })*) => {
        $(
            $(#[$meta])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $family { $($(#[$vmeta])* $code,)* }
        )*

        /// An error that OpenFlow 1.3 defines: its type and the code within the type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode { $($(#[$meta])* $family($family),)* }

        impl ErrorCode {
            /// The error of this type and code, if OpenFlow 1.3 defines it.
            pub const fn from_wire(type_: u16, code: u16) -> Option<Self> {
                match (type_, code) {
                    $($(($type, $value) => Some(Self::$family($family::$code)),)*)*
                    _ => None,
                }
            }

            /// The number of the type (`OFPET_*`).
            pub const fn type_(self) -> u16 {
                match self { $(Self::$family(_) => $type,)* }
            }

            /// The number of the code within its type.
            pub const fn code(self) -> u16 {
                match self { $($(Self::$family($family::$code) => $value,)*)* }
            }

            /// The name in the specification, e.g. `OFPBRC_BAD_LEN`.
            pub const fn name(self) -> &'static str {
                match self { $($(Self::$family($family::$code) => $text,)*)* }
            }
        }

        $(impl From<$family> for ErrorCode {
            fn from(code: $family) -> Self {
                Self::$family(code)
            }
        })*
    };
}

error_families! {
    /// The hello exchange failed (`OFPET_HELLO_FAILED`).
    HelloFailed = 0 {
        /// No version in common.
        Incompatible = 0 "OFPHFC_INCOMPATIBLE",
        /// Permissions.
        Eperm = 1 "OFPHFC_EPERM",
    }
    /// A request was not understood (`OFPET_BAD_REQUEST`).
    BadRequest = 1 {
        /// The version in the header is not the negotiated one.
        BadVersion = 0 "OFPBRC_BAD_VERSION",
        /// The message type is not supported.
        BadType = 1 "OFPBRC_BAD_TYPE",
        /// The multipart type is not supported.
        BadMultipart = 2 "OFPBRC_BAD_MULTIPART",
        /// The experimenter id is not supported.
        BadExperimenter = 3 "OFPBRC_BAD_EXPERIMENTER",
        /// The experimenter type is not supported.
        BadExpType = 4 "OFPBRC_BAD_EXP_TYPE",
        /// Permissions.
        Eperm = 5 "OFPBRC_EPERM",
        /// Wrong request length for its type.
        BadLen = 6 "OFPBRC_BAD_LEN",
        /// The buffer has already been used.
        BufferEmpty = 7 "OFPBRC_BUFFER_EMPTY",
        /// The buffer does not exist.
        BufferUnknown = 8 "OFPBRC_BUFFER_UNKNOWN",
        /// The table is invalid or does not exist.
        BadTableId = 9 "OFPBRC_BAD_TABLE_ID",
        /// Denied because the controller is a slave.
        IsSlave = 10 "OFPBRC_IS_SLAVE",
        /// The port is invalid.
        BadPort = 11 "OFPBRC_BAD_PORT",
        /// The packet in a packet-out is invalid.
        BadPacket = 12 "OFPBRC_BAD_PACKET",
        /// A multipart request overflowed its buffer.
        MultipartBufferOverflow = 13 "OFPBRC_MULTIPART_BUFFER_OVERFLOW",
    }
    /// An action was wrong (`OFPET_BAD_ACTION`).
    BadAction = 2 {
        /// Unknown or unsupported action type.
        BadType = 0 "OFPBAC_BAD_TYPE",
        /// Length problem in actions.
        BadLen = 1 "OFPBAC_BAD_LEN",
        /// Unknown experimenter id.
        BadExperimenter = 2 "OFPBAC_BAD_EXPERIMENTER",
        /// Unknown action for the experimenter id.
        BadExpType = 3 "OFPBAC_BAD_EXP_TYPE",
        /// Problem validating the output port.
        BadOutPort = 4 "OFPBAC_BAD_OUT_PORT",
        /// Bad action argument.
        BadArgument = 5 "OFPBAC_BAD_ARGUMENT",
        /// Permissions.
        Eperm = 6 "OFPBAC_EPERM",
        /// Cannot handle this many actions.
        TooMany = 7 "OFPBAC_TOO_MANY",
        /// Problem validating the output queue.
        BadQueue = 8 "OFPBAC_BAD_QUEUE",
        /// Invalid group id in a forward action.
        BadOutGroup = 9 "OFPBAC_BAD_OUT_GROUP",
        /// The action does not apply to this match, or a set-field lacks its prerequisite.
        MatchInconsistent = 10 "OFPBAC_MATCH_INCONSISTENT",
        /// The order of an apply-actions list is not supported.
        UnsupportedOrder = 11 "OFPBAC_UNSUPPORTED_ORDER",
        /// The action uses an unsupported tag or encapsulation.
        BadTag = 12 "OFPBAC_BAD_TAG",
        /// Unsupported type in a set-field action.
        BadSetType = 13 "OFPBAC_BAD_SET_TYPE",
        /// Length problem in a set-field action.
        BadSetLen = 14 "OFPBAC_BAD_SET_LEN",
        /// Bad argument in a set-field action.
        BadSetArgument = 15 "OFPBAC_BAD_SET_ARGUMENT",
    }
    /// An instruction was wrong (`OFPET_BAD_INSTRUCTION`).
    BadInstruction = 3 {
        /// Unknown instruction.
        UnknownInst = 0 "OFPBIC_UNKNOWN_INST",
        /// The switch or the table does not support the instruction.
        UnsupInst = 1 "OFPBIC_UNSUP_INST",
        /// Invalid table id.
        BadTableId = 2 "OFPBIC_BAD_TABLE_ID",
        /// Metadata value not supported by the data path.
        UnsupMetadata = 3 "OFPBIC_UNSUP_METADATA",
        /// Metadata mask not supported by the data path.
        UnsupMetadataMask = 4 "OFPBIC_UNSUP_METADATA_MASK",
        /// Unknown experimenter id.
        BadExperimenter = 5 "OFPBIC_BAD_EXPERIMENTER",
        /// Unknown instruction for the experimenter id.
        BadExpType = 6 "OFPBIC_BAD_EXP_TYPE",
        /// Length problem in instructions.
        BadLen = 7 "OFPBIC_BAD_LEN",
        /// Permissions.
        Eperm = 8 "OFPBIC_EPERM",
    }
    /// A match was wrong (`OFPET_BAD_MATCH`).
    BadMatch = 4 {
        /// Unsupported match type.
        BadType = 0 "OFPBMC_BAD_TYPE",
        /// Length problem in the match.
        BadLen = 1 "OFPBMC_BAD_LEN",
        /// The match uses an unsupported tag or encapsulation.
        BadTag = 2 "OFPBMC_BAD_TAG",
        /// Unsupported mask of a data link address.
        BadDlAddrMask = 3 "OFPBMC_BAD_DL_ADDR_MASK",
        /// Unsupported mask of a network address.
        BadNwAddrMask = 4 "OFPBMC_BAD_NW_ADDR_MASK",
        /// Unsupported combination of masked or omitted fields.
        BadWildcards = 5 "OFPBMC_BAD_WILDCARDS",
        /// Unsupported field.
        BadField = 6 "OFPBMC_BAD_FIELD",
        /// Unsupported value of a field.
        BadValue = 7 "OFPBMC_BAD_VALUE",
        /// Unsupported mask, where neither address is meant.
        BadMask = 8 "OFPBMC_BAD_MASK",
        /// A prerequisite was not met.
        BadPrereq = 9 "OFPBMC_BAD_PREREQ",
        /// A field was given twice.
        DupField = 10 "OFPBMC_DUP_FIELD",
        /// Permissions.
        Eperm = 11 "OFPBMC_EPERM",
    }
    /// A flow-mod failed (`OFPET_FLOW_MOD_FAILED`).
    FlowModFailed = 5 {
        /// Unspecified.
        Unknown = 0 "OFPFMFC_UNKNOWN",
        /// The table is full.
        TableFull = 1 "OFPFMFC_TABLE_FULL",
        /// The table does not exist.
        BadTableId = 2 "OFPFMFC_BAD_TABLE_ID",
        /// An overlapping entry exists and `CHECK_OVERLAP` was set.
        Overlap = 3 "OFPFMFC_OVERLAP",
        /// Permissions.
        Eperm = 4 "OFPFMFC_EPERM",
        /// Unsupported idle or hard time-out.
        BadTimeout = 5 "OFPFMFC_BAD_TIMEOUT",
        /// Unsupported or unknown command.
        BadCommand = 6 "OFPFMFC_BAD_COMMAND",
        /// Unsupported or unknown flags.
        BadFlags = 7 "OFPFMFC_BAD_FLAGS",
    }
    /// A group-mod failed (`OFPET_GROUP_MOD_FAILED`).
    GroupModFailed = 6 {
        /// The group to add exists.
        GroupExists = 0 "OFPGMFC_GROUP_EXISTS",
        /// The group is invalid.
        InvalidGroup = 1 "OFPGMFC_INVALID_GROUP",
        /// Unequal load sharing is not supported.
        WeightUnsupported = 2 "OFPGMFC_WEIGHT_UNSUPPORTED",
        /// The group table is full.
        OutOfGroups = 3 "OFPGMFC_OUT_OF_GROUPS",
        /// No room for this many buckets.
        OutOfBuckets = 4 "OFPGMFC_OUT_OF_BUCKETS",
        /// Groups that forward to groups are not supported.
        ChainingUnsupported = 5 "OFPGMFC_CHAINING_UNSUPPORTED",
        /// This watch port or group cannot be watched.
        WatchUnsupported = 6 "OFPGMFC_WATCH_UNSUPPORTED",
        /// The group would cause a loop.
        Loop = 7 "OFPGMFC_LOOP",
        /// The group to modify does not exist.
        UnknownGroup = 8 "OFPGMFC_UNKNOWN_GROUP",
        /// Not deleted, because another group forwards to it.
        ChainedGroup = 9 "OFPGMFC_CHAINED_GROUP",
        /// Unsupported or unknown group type.
        BadType = 10 "OFPGMFC_BAD_TYPE",
        /// Unsupported or unknown command.
        BadCommand = 11 "OFPGMFC_BAD_COMMAND",
        /// Error in a bucket.
        BadBucket = 12 "OFPGMFC_BAD_BUCKET",
        /// Error in a watch port or group.
        BadWatch = 13 "OFPGMFC_BAD_WATCH",
        /// Permissions.
        Eperm = 14 "OFPGMFC_EPERM",
    }
    /// A port-mod failed (`OFPET_PORT_MOD_FAILED`).
    PortModFailed = 7 {
        /// The port does not exist.
        BadPort = 0 "OFPPMFC_BAD_PORT",
        /// The hardware address is not that of the port.
        BadHwAddr = 1 "OFPPMFC_BAD_HW_ADDR",
        /// The configuration is invalid.
        BadConfig = 2 "OFPPMFC_BAD_CONFIG",
        /// The advertisement is invalid.
        BadAdvertise = 3 "OFPPMFC_BAD_ADVERTISE",
        /// Permissions.
        Eperm = 4 "OFPPMFC_EPERM",
    }
    /// A table-mod failed (`OFPET_TABLE_MOD_FAILED`).
    TableModFailed = 8 {
        /// The table does not exist.
        BadTable = 0 "OFPTMFC_BAD_TABLE",
        /// The configuration is invalid.
        BadConfig = 1 "OFPTMFC_BAD_CONFIG",
        /// Permissions.
        Eperm = 2 "OFPTMFC_EPERM",
    }
    /// A queue operation failed (`OFPET_QUEUE_OP_FAILED`).
    QueueOpFailed = 9 {
        /// The port does not exist.
        BadPort = 0 "OFPQOFC_BAD_PORT",
        /// The queue does not exist.
        BadQueue = 1 "OFPQOFC_BAD_QUEUE",
        /// Permissions.
        Eperm = 2 "OFPQOFC_EPERM",
    }
    /// A set-config failed (`OFPET_SWITCH_CONFIG_FAILED`).
    SwitchConfigFailed = 10 {
        /// The flags are invalid.
        BadFlags = 0 "OFPSCFC_BAD_FLAGS",
        /// The length is invalid.
        BadLen = 1 "OFPSCFC_BAD_LEN",
        /// Permissions.
        Eperm = 2 "OFPSCFC_EPERM",
    }
    /// A role request failed (`OFPET_ROLE_REQUEST_FAILED`).
    RoleRequestFailed = 11 {
        /// The generation id is old.
        Stale = 0 "OFPRRFC_STALE",
        /// The switch does not support changing roles.
        Unsup = 1 "OFPRRFC_UNSUP",
        /// The role is invalid.
        BadRole = 2 "OFPRRFC_BAD_ROLE",
    }
    /// A meter-mod failed (`OFPET_METER_MOD_FAILED`).
    MeterModFailed = 12 {
        /// Unspecified.
        Unknown = 0 "OFPMMFC_UNKNOWN",
        /// The meter to add exists.
        MeterExists = 1 "OFPMMFC_METER_EXISTS",
        /// The meter is invalid.
        InvalidMeter = 2 "OFPMMFC_INVALID_METER",
        /// The meter to modify does not exist.
        UnknownMeter = 3 "OFPMMFC_UNKNOWN_METER",
        /// Unsupported or unknown command.
        BadCommand = 4 "OFPMMFC_BAD_COMMAND",
        /// Unsupported flags.
        BadFlags = 5 "OFPMMFC_BAD_FLAGS",
        /// Unsupported rate.
        BadRate = 6 "OFPMMFC_BAD_RATE",
        /// Unsupported burst size.
        BadBurst = 7 "OFPMMFC_BAD_BURST",
        /// Unsupported band.
        BadBand = 8 "OFPMMFC_BAD_BAND",
        /// Unsupported value in a band.
        BadBandValue = 9 "OFPMMFC_BAD_BAND_VALUE",
        /// No more meters available.
        OutOfMeters = 10 "OFPMMFC_OUT_OF_METERS",
        /// No more bands available in a meter.
        OutOfBands = 11 "OFPMMFC_OUT_OF_BANDS",
    }
    /// Setting table features failed (`OFPET_TABLE_FEATURES_FAILED`).
    TableFeaturesFailed = 13 {
        /// The table does not exist.
        BadTable = 0 "OFPTFFC_BAD_TABLE",
        /// Invalid metadata mask.
        BadMetadata = 1 "OFPTFFC_BAD_METADATA",
        /// Unknown property type.
        BadType = 2 "OFPTFFC_BAD_TYPE",
        /// Length problem in properties.
        BadLen = 3 "OFPTFFC_BAD_LEN",
        /// Unsupported property value.
        BadArgument = 4 "OFPTFFC_BAD_ARGUMENT",
        /// Permissions.
        Eperm = 5 "OFPTFFC_EPERM",
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
