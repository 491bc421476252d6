package import Media
package import Wire

/// A sample for a destination.
package struct ForwardedSample: Hashable, Sendable {
    package var session: String
    /// Formats of all tracks of the source.
    package var formats: [TrackFormat]
    package var track: TrackKind
    /// Session time, ticks of the track's timescale.
    package var dts: Int64
    package var pts: Int64
    package var duration: Int64
    package var flags: SampleFlags
    package var bytes: [UInt8]
    /// Upper bound of the capture time, nanoseconds of the caller's clock.
    package var capturedNanoseconds: Int64

    /// Session time, nanoseconds.
    package var dtsNanoseconds: Int64 {
        let timescale = formats.first { $0.kind == track }?.timescale ?? .nanoseconds
        return timescale.nanoseconds(dts)
    }

    package var isKeyframe: Bool { track == .video && flags.contains(.keyframe) }
}

/// A bounded queue of one source's samples for a destination.
///
/// The queue starts with a keyframe and has no gaps. If the destination is too slow, or feed messages were lost, samples are
/// dropped up to the next keyframe and counted.
package struct ForwardQueue: Sendable {
    /// Maximum queued bytes: eight seconds at 16 Mbit/s.
    package static let maximumBytes = 16 << 20
    /// Maximum latency of a queued sample.
    package static let maximumNanoseconds: Int64 = 8_000_000_000

    private var samples: [ForwardedSample] = []
    private var first = 0
    private var bytes = 0
    private var number: UInt64?
    private var session = ""
    private var formats: [TrackFormat] = []
    /// After a loss, drops all samples, audio included, up to the next keyframe.
    private var gate = KeyframeGate(isSkipping: true)
    /// The gate is closed because the destination is too slow.
    private var isSkippingLate = false
    /// A keyframe was received.
    private var hasBegun = false
    /// Dropped samples; those before the first keyframe do not count.
    package private(set) var droppedSamples: UInt64 = 0
    /// Dropped samples that the destination did not take in time.
    package private(set) var lateSamples: UInt64 = 0
    /// Number of times that feed messages were lost.
    package private(set) var feedLosses: UInt64 = 0

    package init() {}

    package var isEmpty: Bool { first == samples.count }

    package var count: Int { samples.count - first }

    /// Adds a feed message's samples.
    /// - Parameter now: the caller's clock, nanoseconds.
    package mutating func take(_ message: FeedSamples, media: [UInt8], now: Int64) {
        guard media.count == message.sizeBytes else { return }
        if message.session == session, let number, message.number != number &+ 1 {
            feedLosses += 1
            gate.skip()
        }
        if message.session != session || message.formats != formats { gate.skip() }
        number = message.number
        session = message.session
        formats = message.formats
        let hasVideo = formats.contains { $0.kind == .video }
        for sample in Self.samples(of: message, media: media, now: now) {
            guard gate.admits(beginsDecodable: sample.isKeyframe || !hasVideo) else {
                if hasBegun { droppedSamples += 1 }
                if isSkippingLate { lateSamples += 1 }
                continue
            }
            hasBegun = true
            isSkippingLate = false
            samples.append(sample)
            bytes += sample.bytes.count
        }
        limit()
    }

    /// Removes the next sample.
    /// - Returns: the sample; nil if the queue is empty.
    package mutating func next() -> ForwardedSample? {
        guard !isEmpty else { return nil }
        defer { advance(1) }
        return samples[first]
    }

    /// For a new connection: drops samples up to the newest keyframe.
    package mutating func restart() {
        guard let last = samples[first...].lastIndex(where: \.isKeyframe) else {
            if formats.contains(where: { $0.kind == .video }) { gate.skip() }
            return drop(count)
        }
        drop(last - first)
    }

    private mutating func limit() {
        while let oldest = isEmpty ? nil : samples[first], let newest = samples.last,
            bytes > Self.maximumBytes
                || newest.capturedNanoseconds.clampedSubtracting(oldest.capturedNanoseconds)
                    > Self.maximumNanoseconds
        {
            let hasVideo = formats.contains { $0.kind == .video }
            let later = samples[(first + 1)...].firstIndex { $0.isKeyframe || !hasVideo }
            if later == nil {
                gate.skip()
                isSkippingLate = true
            }
            let number = (later ?? samples.count) - first
            lateSamples += UInt64(number)
            drop(number)
        }
    }

    private mutating func drop(_ number: Int) {
        droppedSamples += UInt64(number)
        advance(number)
    }

    private mutating func advance(_ number: Int) {
        bytes -= samples[first..<first + number].reduce(0) { $0 + $1.bytes.count }
        first += number
        // Compacts when at least half of the array is consumed: amortised O(1).
        if first > 256, first * 2 > samples.count {
            samples.removeFirst(first)
            first = 0
        }
    }

    /// A message's samples in decoding order.
    private static func samples(
        of message: FeedSamples, media: [UInt8], now: Int64
    ) -> [ForwardedSample] {
        var result: [ForwardedSample] = []
        var place = 0
        for run in message.runs {
            guard let format = message.formats.first(where: { $0.kind == run.track }) else {
                place += run.samples.reduce(0) { $0 + Int($1.sizeBytes) }
                continue
            }
            for sample in run.samples {
                let end = place + Int(sample.sizeBytes)
                let captured = format.timescale.nanoseconds(sample.pts)
                let age = max(0, message.arrivedNanoseconds.clampedSubtracting(captured))
                result.append(
                    ForwardedSample(
                        session: message.session, formats: message.formats, track: run.track,
                        dts: sample.dts, pts: sample.pts, duration: sample.duration,
                        flags: sample.flags, bytes: Array(media[place..<end]),
                        capturedNanoseconds: now.clampedSubtracting(age)))
                place = end
            }
        }
        return result.sorted { $0.dtsNanoseconds < $1.dtsNanoseconds }
    }
}
