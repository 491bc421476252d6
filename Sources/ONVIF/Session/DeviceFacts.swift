package import RTSP

/// What a camera says of itself.
package struct DeviceFacts: Hashable, Sendable {
    package var manufacturer: String?
    package var model: String?
    package var firmware: String?
    package var serial: String?
    package var clock: DeviceClock?
    package var profiles: [DeviceProfile] = []
    /// Whether it answered any question: it has services of ONVIF.
    package var isAnswered = false
    /// Why something is missing.
    package var problem: String?

    package init() {}
}

/// A camera's clock, compared with this machine's.
package struct DeviceClock: Hashable, Sendable {
    /// The stated time, seconds since 1970 (UTC).
    package var statedSeconds: Int64
    /// How far it is ahead of this machine's clock: at least, and at most. It was read between a request and its answer, in whole
    /// seconds.
    package var leastAheadNanoseconds: Int64
    package var greatestAheadNanoseconds: Int64
    /// Whether the camera says that it is set by NTP; nil if it does not say.
    package var isSetByNTP: Bool?

    /// A camera of that time was never set.
    private static let earliestSeconds: Int64 = 1_577_836_800
    /// Tolerated error of both clocks.
    private static let toleranceNanoseconds: Int64 = 2_000_000_000

    package enum Verdict: Hashable, Sendable {
        /// Its time is before 2020.
        case neverSet
        case ahead, behind
        /// No further off than can be measured.
        case right
    }

    package var verdict: Verdict {
        if statedSeconds < Self.earliestSeconds { return .neverSet }
        if leastAheadNanoseconds > Self.toleranceNanoseconds { return .ahead }
        return greatestAheadNanoseconds < -Self.toleranceNanoseconds ? .behind : .right
    }
}

/// One of a camera's streams.
package struct DeviceProfile: Hashable, Sendable {
    package struct Video: Hashable, Sendable {
        /// "H.264", "H.265", or as the camera names it.
        package var codec: String
        package var width: Int
        package var height: Int
        /// Pictures per second at most; nil if it does not say.
        package var rate: Double?
        /// Bits per second at most; nil if it does not say.
        package var bitsPerSecond: Int?
        /// Pictures from a keyframe to the next; nil if it does not say.
        package var keyframeInterval: Int?
    }

    package struct Audio: Hashable, Sendable {
        /// "AAC", "G.711", or as the camera names it.
        package var codec: String
        package var sampleRate: Int?
    }

    package var token: String
    package var name: String
    package var video: Video?
    package var audio: Audio?
    /// Its stream, without credentials, at the host that was asked.
    package var url: RTSPURL?
    /// Why it has no URL.
    package var obstacle: String?

    /// Whether an agent can record it.
    package var isRecordable: Bool {
        url != nil && ["H.264", "H.265"].contains(video?.codec)
    }
}
