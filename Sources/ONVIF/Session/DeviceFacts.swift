import Media
package import RTSP

/// Properties that a camera reports.
package struct DeviceFacts: Hashable, Sendable {
    package var manufacturer: String?
    package var model: String?
    package var firmware: String?
    package var serial: String?
    package var clock: DeviceClock?
    package var profiles: [DeviceProfile] = []
    /// Whether it answered any request, and so supports ONVIF.
    package var isAnswered = false
    /// The reason why properties are missing; nil if none is.
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
    /// Whether the camera reports that NTP sets it; nil if not reported.
    package var isSetByNTP: Bool?

    /// A camera of that time was never set.
    private static let earliestSeconds: Int64 = 1_577_836_800
    /// Tolerated error of both clocks.
    private static let toleranceNanoseconds: Int64 = 2_000_000_000

    package enum Verdict: Hashable, Sendable {
        /// Its time is before 2020.
        case neverSet
        case ahead, behind
        /// The difference is within the tolerance.
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
        /// As ``VideoCodec`` describes it, or as the camera names it.
        package var codec: String
        package var width: Int
        package var height: Int
        /// Maximum pictures per second; nil if not reported.
        package var rate: Double?
        /// Maximum bitrate, bits per second; nil if not reported.
        package var bitsPerSecond: Int?
        /// Keyframe interval, pictures; nil if not reported.
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
        url != nil && VideoCodec.all.contains { $0.description == video?.codec }
    }
}
