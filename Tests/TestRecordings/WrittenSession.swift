package import Archive
package import Foundation
package import Media
import MP4
import Timing

/// A finished session of one camera on disk with a poor clock estimate: its times were wrong by `errorNanoseconds`, and
/// the true ones are known.
package final class WrittenSession {
    package static let name = "2026-11-20T22-40-00.000Z"
    package static let second: Int64 = 1_000_000_000
    /// Agent's clock at the session's zero.
    package static let agentZero: Int64 = 5_000_000_000_000
    package static let collectorZero: Int64 = 77_000_000_000_000

    package let directory: URL
    package var layout: ArchiveLayout { ArchiveLayout(root: directory.path) }

    /// True collector clock less agent clock.
    package let trueOffset: @Sendable (_ agent: Int64) -> Int64
    /// The error of times mapped while recording.
    package let error: @Sendable (_ session: Int64) -> Int64
    /// How long before its recorded times everything was truly captured.
    private let lead: Int64
    /// The recorded bound of the error.
    private let boundNanoseconds: UInt64
    /// Whether two pictures of three refer to one presented after them.
    private let isReordered: Bool
    /// Whether sound begins with a packet that is only decoded.
    private let isPrimed: Bool
    /// Whether that packet is a fragment of its own: the others were encoded much later.
    private let isPrimedAlone: Bool
    private let firstVideo: TrackFormat
    /// The video of the segments after the first one; nil: the same.
    private let laterVideo: TrackFormat?
    /// First byte of a keyframe's NAL unit.
    private let keyframeHeader: UInt8

    private static let video = TrackFormat.video(
        .h264(
            sequenceParameterSets: [
                [0x67, 0x42, 0xC0, 0x0A, 0xDA, 0x0F, 0x0A, 0x69, 0xA8, 0x10, 0x10]
            ],
            pictureParameterSets: [[0x68, 0xCE, 0x06, 0xE2]], width: 16, height: 16))
    private static let audio = TrackFormat.audio(
        .aac(configuration: [0x11, 0x90], sampleRate: 48_000, channels: 2))

    package init(
        segments: Int = 2, secondsEach: Int = 5, state: SessionManifest.State = .finished,
        skewPPB: Int64 = 80_000, finished: Bool = true, withExchanges: Bool = true,
        lead: Int64 = 0, reordered: Bool = false, primed: Bool = false,
        primedAlone: Bool = false, video: TrackFormat? = nil, laterVideo: TrackFormat? = nil,
        keyframeHeader: UInt8 = 0x65,
        boundNanoseconds: UInt64 = 5_000_000,
        error: @escaping @Sendable (_ session: Int64) -> Int64
    ) throws {
        directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-retime-\(UUID().uuidString.prefix(8))")
        self.error = error
        self.lead = lead
        isReordered = reordered
        isPrimed = primed || primedAlone
        isPrimedAlone = primedAlone
        firstVideo = video ?? Self.video
        self.laterVideo = laterVideo
        self.keyframeHeader = keyframeHeader
        self.boundNanoseconds = boundNanoseconds
        trueOffset = { agent in
            Self.collectorZero - Self.agentZero
                + (agent - Self.agentZero) / 1_000 * skewPPB / 1_000_000
        }
        let source = layout.source(Self.name, "camera")
        try FileManager.default.createDirectory(
            atPath: source, withIntermediateDirectories: true)
        var manifest = SessionManifest(
            session: Self.name, zero: Self.zero, zeroMonotonicNanoseconds: Self.collectorZero,
            startAt: .firstSample, startWindowNanoseconds: 0,
            segmentNanoseconds: Int64(secondsEach) * Self.second, software: "test")
        manifest.state = state
        try FileSystem.replace(layout.manifest(Self.name), with: manifest.encoded())
        for segment in 0..<segments {
            try write(
                segment, seconds: secondsEach, finished: finished, withExchanges: withExchanges)
        }
    }

    deinit {
        do {
            try FileManager.default.removeItem(at: directory)
        } catch {
            print("\(directory.path) stays: \(error)")
        }
    }

    private static let zero = UTCTime(nanoseconds: 1_795_214_400_000_000_000)

    package var paths: [String] {
        get throws { try layout.segmentPaths(Self.name, "camera") }
    }

    package func bytes() throws -> [[UInt8]] {
        try paths.map { try FileSystem.read($0, limit: 1 << 24) }
    }

    private func write(
        _ segment: Int, seconds: Int, finished: Bool, withExchanges: Bool
    ) throws {
        let origin = Int64(segment * seconds) * Self.second
        // How long before the file's beginning its first samples were recorded.
        let early = max(0, lead - error(origin - lead))
        let plan = SegmentPlan(
            originNanoseconds: origin,
            tracks: [
                .init(
                    format: segment > 0 ? laterVideo ?? firstVideo : firstVideo,
                    originTicks: origin / Self.second * 90_000,
                    shiftTicks: early == 0 ? 0 : early * 9 / 100_000 + 1),
                .init(
                    format: Self.audio, originTicks: origin / Self.second * 48_000,
                    shiftTicks: (isPrimed ? 4_800 : 0)
                        + (early == 0 ? 0 : early * 48 / 1_000_000 + 1)),
            ])
        let writer = try SegmentWriter(
            path: layout.segment(
                Self.name, "camera",
                origin: UTCTime(nanoseconds: Self.zero.nanoseconds + origin)),
            plan: plan, sessionZero: Self.zero)
        if isPrimedAlone, segment == 0 { try writer.append(primingFragment) }
        for fragment in segment * seconds..<(segment + 1) * seconds {
            try writer.append(
                self.fragment(fragment, from: origin, withExchanges: withExchanges))
        }
        if finished { try writer.finish() }
    }

    /// The agent's stamp at a true time of the session.
    package func stamp(_ session: Int64) -> Int64 {
        var stamp = Self.agentZero + session
        for _ in 0..<4 { stamp = session + Self.collectorZero - trueOffset(stamp) }
        return stamp
    }

    /// A second of media: a message of 100 ms each, two pictures and the sound beside them.
    /// - Parameter origin: start of its file, session time: no picture is presented before it.
    private func fragment(
        _ index: Int, from origin: Int64, withExchanges: Bool
    ) -> FragmentPlan {
        var pieces: [PlannedPiece] = []
        var context = context
        for message in index * 10..<(index + 1) * 10 {
            pieces.append(piece(message, from: origin))
        }
        context.clock.offsetNanoseconds =
            pieces.first?.runs.first?.samples.first?.appliedOffsetNanoseconds ?? 0
        if withExchanges {
            context.exchanges = (0..<4).map { exchange in
                self.exchange(Int64(index) * Self.second + exchange * Self.second / 4)
            }
        }
        return FragmentPlan(context: context, pieces: pieces)
    }

    private var context: FragmentContext {
        FragmentContext(
            spool: SpoolID(high: 1, low: 1), epoch: EpochID(high: UInt64(2), low: 0),
            clock: FragmentRecord.Clock(
                offsetNanoseconds: 0, boundNanoseconds: boundNanoseconds, skewPartsPerBillion: 0),
            collectorZeroNanoseconds: Self.collectorZero)
    }

    private var primingFragment: FragmentPlan {
        let piece = PlannedPiece(
            payload: ArrayPayload([255, 1, 2]), range: 0..<3, digest: Digest(of: [255, 1, 2]),
            runs: [PlannedRun(track: .audio, firstSequence: 1, samples: [packet(-1)])])
        return FragmentPlan(context: context, pieces: [piece])
    }

    private func exchange(_ session: Int64) -> ClockExchange {
        let t1 = stamp(session)
        let t2 = t1 + trueOffset(t1) + 30_000
        let t3 = t2 + 5_000
        var t4 = t3 + 30_000 - trueOffset(t1)
        t4 = t3 + 30_000 - trueOffset(t4)
        return ClockExchange(
            t1Nanoseconds: t1, t2Nanoseconds: t2, t3Nanoseconds: t3, t4Nanoseconds: t4)
    }

    private func piece(_ message: Int, from origin: Int64) -> PlannedPiece {
        var bytes: [UInt8] = []
        let pictures = (message * 2..<message * 2 + 2).map { picture in
            let session = Int64(picture) * Self.second / 20 - lead
            let isKeyframe = picture % 20 == 0
            bytes += [
                0, 0, 0, 3, isKeyframe ? keyframeHeader : 0x41, UInt8(truncatingIfNeeded: picture),
                7,
            ]
            let ticks = (session + error(session)) * 9 / 100_000
            let start = picture == message * 2 ? origin * 9 / 100_000 : .min
            return PlannedSample(
                sizeBytes: 7, dts: ticks, pts: max(start, ticks + 4_500 * delay(of: picture % 20)),
                duration: 4_500,
                flags: isKeyframe ? .keyframe : [], agentDTSNanoseconds: stamp(session),
                appliedOffsetNanoseconds: applied(session))
        }
        // Packets of 960 ticks: 50 a second, five a message, end to end while the error does not change.
        let isFirst = isPrimed && message == 0
        let isPriming = isFirst && !isPrimedAlone
        let packets = (message * 5 - (isPriming ? 1 : 0)..<message * 5 + 5).map { packet in
            bytes += [UInt8(truncatingIfNeeded: packet), 1, 2]
            return self.packet(packet)
        }
        let number = message * 7 + (isPrimed && !isFirst || isPrimedAlone ? 2 : 1)
        return PlannedPiece(
            payload: ArrayPayload(bytes), range: 0..<bytes.count, digest: Digest(of: bytes),
            runs: [
                PlannedRun(
                    track: .video, firstSequence: UInt64(number), samples: pictures),
                PlannedRun(
                    track: .audio, firstSequence: UInt64(number + 2), samples: packets),
            ])
    }

    private func packet(_ packet: Int) -> PlannedSample {
        let session = Int64(packet) * Self.second / 50 - lead
        let ticks = (session + error(session)) * 48 / 1_000_000
        return PlannedSample(
            sizeBytes: 3, dts: ticks, pts: ticks, duration: 960,
            flags: packet < 0 ? [.keyframe, .priming] : .keyframe,
            agentDTSNanoseconds: stamp(session), appliedOffsetNanoseconds: applied(session))
    }

    private func applied(_ session: Int64) -> Int64 { trueOffset(stamp(session)) + error(session) }

    /// Pictures between the decoding of a group's picture and its presentation.
    private func delay(of picture: Int) -> Int64 {
        guard isReordered else { return 0 }
        if picture == 0 || picture == 19 { return 1 }
        return picture % 3 == 1 ? 3 : 0
    }

    /// Decoding times of a track of a file, ticks of its media timeline.
    package static func decodingTimes(_ bytes: [UInt8], _ kind: TrackKind) throws -> [Int64] {
        let source = MemorySource(bytes)
        var scanner = try FragmentScanner(source)
        var times: [Int64] = []
        while let fragment = try scanner.next() {
            times += fragment.runs.filter { $0.track == kind }.flatMap(\.samples).map(\.dts)
        }
        return times
    }

    /// Presentation times of a file's track on the file's timeline, nanoseconds, from its index and edit list.
    package static func times(_ bytes: [UInt8], _ kind: TrackKind) throws -> [Int64] {
        let movie = try Movie.read(from: MemorySource(bytes))
        guard let track = movie.track(kind), let edit = track.edits.last else { return [] }
        let wait = track.edits.dropLast().reduce(0) { $0 + Int64($1.segmentDuration) }
        let start = try rescale(wait, from: movie.timescale, to: .nanoseconds)
        return try (0..<track.samples.count).map {
            start
                + (try rescale(
                    track.samples.pts($0) - edit.mediaTime, from: track.timescale, to: .nanoseconds))
        }
    }
}
