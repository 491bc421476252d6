import Accounts
import Archive
import HTTPTypes
import Library
import Media
import Recordings
import RTSPServer
import Synchronization

/// Packetizes a recording for one client. Files are read on the reading threads.
final class RecordingPlayback: Sendable {
    /// Packets that are sent together.
    struct Step: Sendable {
        /// Decoding time on the ``PlaybackTimeline``, nanoseconds.
        var dueNanoseconds: Int64
        /// Presentation time, nanoseconds of session time.
        var positionNanoseconds: Int64
        /// End of presentation on the ``PlaybackTimeline``, nanoseconds.
        var endNanoseconds: Int64
        var batch: SharedBatch
        /// Playback had reached the end of a growing recording, and waited: the pace starts again here.
        var isAfterWait = false
    }

    /// Reads samples from a start on.
    final class Cursor: Sendable {
        fileprivate struct Reading {
            /// The number of the source's files, and the last one.
            struct Files: Hashable {
                var count: Int
                var last: SegmentKey?

                init(_ source: RecordedSource) {
                    count = source.files.count
                    last = source.files.last?.key
                }
            }

            var files: Files
            /// Starts before the newest sample that was read.
            var fragments: FragmentReader
            var reader: SampleReader
            /// Samples that were read ahead.
            var ahead: [RecordedSample]
            /// Decoding time of each track's newest sample, nanoseconds of session time.
            var newest: [TrackKind: Int64] = [:]
            /// Samples up to these times were sent before the files were opened again.
            var repeated: [TrackKind: Int64] = [:]
            /// Session time up to which all tracks are recorded, nanoseconds; nil: not known yet.
            var horizon: Int64?
            /// No samples in the range follow those that the reader has found.
            var isComplete = false
            /// The horizon is reached.
            var isDrained = true
            /// The end of the recording, nanoseconds of session time, and when it was first seen, monotonic.
            var recorded: (end: Int64, since: Int64)?
            /// Nothing was recorded for ``RecordingPlayback/silenceNanoseconds``.
            var isSilent = false
            var hasWaited = false
            /// Session time at which a file needs another description, nanoseconds: playback ends before it.
            var otherFormat: Int64?

            var isOver: Bool { otherFormat != nil }
        }

        /// The first picture, or the first sound without pictures; nanoseconds of session time.
        let startNanoseconds: Int64
        /// Exclusive, session time; nil: the end of the recording.
        let endNanoseconds: Int64?
        fileprivate let zeroUTCNanoseconds: Int64
        fileprivate let reading: Mutex<Reading>

        /// The reason for an end before that of the recording, in one line.
        var endReason: String? {
            reading.withLock { reading in
                if let instant = reading.otherFormat {
                    return RecordingPlayback.reason(ofOtherFormat: instant)
                }
                return reading.isSilent ? "nothing more is recorded at present" : nil
            }
        }

        /// Whether its first file has the tracks of a presentation, or some of them.
        fileprivate func isDescribed(by presentation: ServedPresentation) -> Bool {
            reading.withLock { reading in
                guard let formats = reading.ahead.first?.file.formats else { return true }
                return RecordingPlayback.senders(of: presentation).allSatisfy { sender in
                    var sender = sender
                    return RecordingPlayback.follow(formats, presentation, &sender)
                }
            }
        }

        /// Nil if nothing is recorded in the range.
        fileprivate init?(
            _ source: RecordedSource, from start: Int64?, until end: Int64?, zero: UTCTime
        ) throws(ArchiveError) {
            let fragments = FragmentReader(source, from: start, to: end)
            var reader = SampleReader(fragments, from: start, to: end)
            let (ahead, beginning) = try RecordingPlayback.first(&reader)
            guard let beginning else { return nil }
            startNanoseconds = beginning.ptsNanoseconds
            endNanoseconds = end
            zeroUTCNanoseconds = zero.nanoseconds
            reading = Mutex(
                Reading(
                    files: Reading.Files(source), fragments: fragments, reader: reader,
                    ahead: ahead))
        }
    }

    /// Duration that is read at once.
    private static let chunkNanoseconds: Int64 = 500_000_000
    private static let chunkBytes = 4 << 20
    /// Samples that are searched for the first picture.
    private static let lookahead = 256
    private static let reportNanoseconds: Int64 = 5_000_000_000
    /// Audio and video of a growing recording end at most two fragments apart.
    private static let marginNanoseconds: Int64 = 3_000_000_000
    /// A growing recording whose end is unchanged for this long is played up to its end.
    private static let quietNanoseconds: Int64 = 10_000_000_000
    /// Playback of a growing recording whose end is unchanged for this long ends: its agent has stopped. Live sources wait as long.
    private static let silenceNanoseconds: Int64 = 30_000_000_000
    /// The files are searched for the samples of this duration before the newest one: tracks end at most this far apart.
    private static let overlapNanoseconds: Int64 = 4_000_000_000
    /// Growth of a recording for which it is read further.
    private static let growthNanoseconds: Int64 = 1_000_000_000
    private static let growthPause = Duration.seconds(1)

    private struct State {
        var senders: [TrackSender]
        var zeroUTCNanoseconds: Int64 = 0
        var reported: Int64?
        var timeline = PlaybackTimeline()
        /// Session time of the newest sample that was sent, or else of the start, nanoseconds.
        var position: Int64
        /// Session time at which playback stops, nanoseconds.
        var end: Int64?
        /// End and duration of each track's newest sample, nanoseconds of session time.
        var newest: [TrackKind: (end: Int64, duration: Int64)] = [:]
        /// End of everything that was sent, on the timeline; nil: nothing was.
        var sentEnd: Int64?

        /// Notes a sample.
        /// - Returns: whether samples of its track are missing before it.
        mutating func isLoss(before sample: RecordedSample) -> Bool {
            let (start, duration) = (sample.dtsNanoseconds, sample.durationNanoseconds)
            let previous = newest[sample.track]
            newest[sample.track] = (start.clampedAdding(duration), duration)
            // A duration is the distance to the next sample, unless samples are missing; between files it is estimated.
            return previous.map { start.clampedSubtracting($0.end) > $0.duration / 4 * 3 } ?? false
        }
    }

    let presentation: ServedPresentation
    /// Session time of normal play time 0, nanoseconds.
    let beginningNanoseconds: Int64
    private let site: ViewerSite
    private let session: String
    private let source: String
    private let owner: WorkOwner
    /// Monotonic, nanoseconds.
    private let now: @Sendable () -> Int64
    private let state: Mutex<State>

    private init(
        _ site: ViewerSite, session: String, source: String, for owner: WorkOwner,
        beginningNanoseconds: Int64, presentation: ServedPresentation,
        now: @escaping @Sendable () -> Int64
    ) {
        self.now = now
        self.site = site
        self.session = session
        self.source = source
        self.owner = owner
        self.beginningNanoseconds = beginningNanoseconds
        self.presentation = presentation
        state = Mutex(
            State(senders: Self.senders(of: presentation), position: beginningNanoseconds))
    }

    private static func senders(of presentation: ServedPresentation) -> [TrackSender] {
        presentation.tracks.compactMap {
            TrackSender(
                $0, random: (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)))
        }
    }

    /// For messages.
    var name: String { "\(session)/\(source)" }

    /// SSRC of each track.
    var sources: [UInt32] { state.withLock { $0.senders.map(\.source) } }

    /// Opens a recording, and finds its start and tracks.
    /// - Parameters:
    ///   - from: unparsed, from the URL.
    ///   - owner: reading from a late start is scheduled fairly between owners.
    /// - Throws: ``Problem`` if nothing is recorded there.
    static func open(
        _ source: String, in session: String, from: String?, for owner: WorkOwner,
        at site: ViewerSite,
        now: @escaping @Sendable () -> Int64 = { SystemClock.monotonic.nowNanoseconds }
    ) async throws -> RecordingPlayback {
        let memory = site.coverage
        return try await heavy(session, for: owner, at: site) { library in
            let recording = try library.recording(session)
            guard let recorded = recording.source(source) else { throw ViewerSite.noRecording }
            let moment = try RequestQuery.moment(from, "from", zero: recording.zero)
            var reader = SampleReader(recorded, from: moment)
            guard let first = try Self.first(&reader).beginning else {
                throw ViewerSite.noRecording
            }
            var duration: Int64?
            if try !isGrowing(source, in: session, library) {
                let lane = try library.lane(of: source, in: session, remembering: memory)
                duration = lane?.recorded.last.map {
                    max(0, $0.endNanoseconds.clampedSubtracting(first.ptsNanoseconds))
                }
            }
            return RecordingPlayback(
                site, session: session, source: source, for: owner,
                beginningNanoseconds: first.ptsNanoseconds,
                presentation: ServedPresentation(
                    name: source,
                    formats: try RecordedTracks.formats(
                        of: recorded.files(from: first.ptsNanoseconds, until: nil),
                        beginningWith: first.file),
                    extent: .recorded(durationNanoseconds: duration)), now: now)
        }
    }

    /// The reason for the end of a playback.
    fileprivate static func reason(ofOtherFormat instant: Int64) -> String {
        // Rounded up: a time before it has the format before it.
        let seconds = PlayRange.text(instant.clampedAdding(999_999))
        return
            "the recording has another format from \(seconds) s on: request it with ?from=\(seconds)"
    }

    /// Whether a source is still being recorded. Its last file does not show that while the next one is begun.
    private static func isGrowing(
        _ source: String, in session: String, _ library: RecordingLibrary
    ) throws -> Bool {
        let manifest = try library.manifest(session)
        guard manifest.state == .recording,
            manifest.sources.first(where: { $0.name == source })?.isComplete != true
        else { return false }
        return try library.isCollectorRunning()
    }

    /// The first samples, up to and including the first picture if there is one.
    private static func first(
        _ reader: inout SampleReader
    ) throws(ArchiveError) -> (samples: [RecordedSample], beginning: RecordedSample?) {
        var samples: [RecordedSample] = []
        while samples.count < lookahead, let sample = try reader.next() {
            samples.append(sample)
            if sample.track == .video || sample.file.format(.video) == nil { break }
        }
        return (samples, samples.first { $0.track == .video } ?? samples.first)
    }

    /// Finds the keyframe at or before a start. A playback that is in progress is not affected.
    /// - Parameter range: without a start, the position, and the end of the range before.
    /// - Throws: 416 if nothing is recorded in the range, and 404 if it needs another description.
    func seek(to range: PlayRange) async throws -> Cursor {
        let (session, source) = (session, source)
        let (start, end) = limits(of: range)
        let presentation = presentation
        return try await Self.heavy(session, for: owner, at: site) { library in
            let recording = try library.recording(session)
            guard let recorded = recording.source(source) else { throw ViewerSite.noRecording }
            guard
                let cursor = try Cursor(recorded, from: start, until: end, zero: recording.zero)
            else {
                throw Problem(.rangeNotSatisfiable, "nothing is recorded in this range")
            }
            guard cursor.isDescribed(by: presentation) else {
                throw Problem(.notFound, Self.reason(ofOtherFormat: cursor.startNanoseconds))
            }
            return cursor
        }
    }

    /// Start and end of a range in session time.
    private func limits(of range: PlayRange) -> (start: Int64, end: Int64?) {
        switch range {
        case .from(let start, let end):
            (
                beginningNanoseconds.clampedAdding(start),
                end.map { beginningNanoseconds.clampedAdding($0) }
            )
        case .unspecified, .now:
            state.withLock { state in
                // Playback that has reached its end continues beyond it.
                (state.position, state.end.flatMap { $0 > state.position ? $0 : nil })
            }
        }
    }

    /// Continues with a cursor's samples. The previous playback must have stopped.
    func begin(_ cursor: Cursor) -> ServerSession.Beginning {
        let end = cursor.endNanoseconds.map { end in
            var length = max(0, end.clampedSubtracting(beginningNanoseconds))
            if case .recorded(let duration?) = presentation.extent {
                length = min(length, duration)
            }
            return length
        }
        return state.withLock { state in
            state.zeroUTCNanoseconds = cursor.zeroUTCNanoseconds
            state.reported = nil
            // RTP timestamps continue (RFC 2326 appendix B).
            state.timeline =
                state.sentEnd.map {
                    PlaybackTimeline(from: cursor.startNanoseconds, playedAfter: $0)
                } ?? PlaybackTimeline()
            state.position = cursor.startNanoseconds
            state.end = cursor.endNanoseconds
            state.newest = [:]
            var tracks: [Int: ServerSession.Beginning.Track] = [:]
            for sender in state.senders {
                let ticks = Self.ticks(at: cursor.startNanoseconds, sender, state)
                tracks[sender.track] = .init(
                    sequence: sender.sequence, timestamp: sender.timestamp(ticks))
            }
            return ServerSession.Beginning(
                startNanoseconds: max(
                    0, cursor.startNanoseconds.clampedSubtracting(beginningNanoseconds)),
                endNanoseconds: end, tracks: tracks)
        }
    }

    /// Samples that were read.
    private enum Part {
        case steps([Step])
        /// The end of a recording that grows.
        case waiting
        case over
    }

    /// The packets of the next half second, which may be none; nil at the end. At the end of a recording that grows, waits for a
    /// second.
    func next(_ cursor: Cursor) async throws -> [Step]? {
        let part = try await ReadingThreads.$place.withValue(session) {
            try await site.read { [self] library in
                try cursor.reading.withLock { reading in
                    try follow(&reading, cursor, library)
                    return try read(&reading)
                }
            }
        }
        switch part {
        case .steps(let steps): return steps
        case .waiting:
            try await Task.sleep(for: Self.growthPause)
            return []
        case .over:
            // A later start without a range continues beyond the end of this one.
            state.withLock { $0.end = nil }
            return nil
        }
    }

    /// Looks for new samples of a growing recording, if the known ones were read.
    private func follow(
        _ reading: inout Cursor.Reading, _ cursor: Cursor, _ library: RecordingLibrary
    ) throws {
        guard reading.isDrained, !reading.isComplete, !reading.isOver else { return }
        // Determined before the files are listed: if the source has ended, that list is final.
        let isGrowing = try Self.isGrowing(source, in: session, library)
        let horizon = try isGrowing ? reachable(&reading, library) : .max
        reading.isComplete =
            cursor.endNanoseconds.map { horizon >= $0 } ?? !isGrowing || reading.isSilent
        guard let before = reading.horizon else {
            // The reader was opened just now.
            reading.horizon = horizon
            reading.isDrained = false
            return
        }
        guard reading.isComplete || horizon.clampedSubtracting(before) >= Self.growthNanoseconds
        else { return }
        let recording = try library.recording(session)
        guard let recorded = recording.source(source) else { throw ViewerSite.noRecording }
        let newest = reading.newest.values.max() ?? cursor.startNanoseconds
        let from = max(
            cursor.startNanoseconds, newest.clampedSubtracting(Self.overlapNanoseconds))
        let files = Cursor.Reading.Files(recorded)
        if files != reading.files || reading.isComplete {
            reading.files = files
            reading.fragments = FragmentReader(recorded, from: from, to: cursor.endNanoseconds)
        }
        reading.fragments.skip(to: from)
        reading.reader = SampleReader(reading.fragments, from: from, to: cursor.endNanoseconds)
        reading.ahead = []
        reading.repeated = reading.newest
        reading.horizon = horizon
        reading.isDrained = false
    }

    /// Session time up to which all tracks of a growing recording can be read, nanoseconds.
    private func reachable(
        _ reading: inout Cursor.Reading, _ library: RecordingLibrary
    ) throws -> Int64 {
        let now = now()
        let lane = try library.lane(of: source, in: session, remembering: site.coverage)
        let end = lane?.recorded.last?.endNanoseconds ?? .min
        let known = reading.recorded ?? (end, now)
        reading.recorded = known.end == end ? known : (end, now)
        let quiet = known.end == end ? now - known.since : 0
        reading.isSilent = quiet >= Self.silenceNanoseconds
        let isQuiet = quiet >= Self.quietNanoseconds
        return isQuiet ? end : end.clampedSubtracting(Self.marginNanoseconds)
    }

    private func read(_ reading: inout Cursor.Reading) throws -> Part {
        guard !reading.isOver else { return .over }
        guard !reading.isDrained || reading.isComplete else {
            reading.hasWaited = true
            return .waiting
        }
        var steps = try steps(&reading)
        if reading.hasWaited, !steps.isEmpty {
            reading.hasWaited = false
            steps[0].isAfterWait = true
        }
        let isAtEnd = reading.isDrained && reading.isComplete || reading.isOver
        return steps.isEmpty && isAtEnd ? .over : .steps(steps)
    }

    private func steps(_ reading: inout Cursor.Reading) throws -> [Step] {
        var steps: [Step] = []
        var bytes = 0
        var firstDue: Int64?
        while let sample = try Self.next(&reading) {
            if let sent = reading.repeated[sample.track] {
                if sample.dtsNanoseconds <= sent { continue }
                reading.repeated[sample.track] = nil
            }
            reading.newest[sample.track] = max(
                sample.dtsNanoseconds, reading.newest[sample.track] ?? .min)
            let isServed = presentation.tracks.contains { $0.format.kind == sample.track }
            let media = try isServed ? sample.read() : []
            let (batch, played, end) = state.withLock { state in
                let batch = Self.packets(of: sample, media, presentation, &state)
                return (
                    batch, state.timeline.played(sample.dtsNanoseconds),
                    state.timeline.played(sample.endNanoseconds)
                )
            }
            guard let batch else {
                reading.otherFormat = sample.ptsNanoseconds
                return steps
            }
            let due = sample.dtsNanoseconds
            if !batch.isEmpty {
                steps.append(
                    Step(
                        dueNanoseconds: played, positionNanoseconds: sample.ptsNanoseconds,
                        endNanoseconds: end, batch: SharedBatch(batch)))
            }
            // Samples without packets count: there may be hours of them.
            let begin = firstDue ?? due
            firstDue = begin
            bytes += sample.sizeBytes
            if bytes >= Self.chunkBytes || due.clampedSubtracting(begin) >= Self.chunkNanoseconds {
                return steps
            }
        }
        reading.isDrained = true
        return steps
    }

    /// The packets of a sample, which may be none; nil: a client needs a new description for it.
    private static func packets(
        of sample: RecordedSample, _ media: [UInt8], _ presentation: ServedPresentation,
        _ state: inout State
    ) -> PacketBatch? {
        guard follow(sample.file.formats, presentation, &state) else { return nil }
        var batch = PacketBatch()
        let index = state.senders.firstIndex {
            presentation.tracks[$0.track].format.kind == sample.track
        }
        guard let index else { return batch }
        if state.timeline.note(sample.dtsNanoseconds) {
            // Timestamps map to other times from here on.
            state.reported = nil
        }
        if state.isLoss(before: sample) { state.senders[index].noteLoss() }
        report(sample.ptsNanoseconds, to: &batch, &state)
        batch.beginsDecodable = sample.track == .video && sample.flags.contains(.keyframe)
        do throws(BitstreamError) {
            try state.senders[index].append(
                media,
                ticks: state.timeline.played(ticks: sample.ptsTicks, sample.timescale),
                isKeyframe: sample.flags.contains(.keyframe),
                to: &batch)
        } catch {
            state.senders[index].noteLoss()
        }
        return batch
    }

    /// A step was sent: a later start without a range continues there.
    func note(sent step: Step) {
        state.withLock { state in
            state.position = step.positionNanoseconds
            state.sentEnd = max(state.sentEnd ?? .min, step.endNanoseconds)
        }
    }

    /// BYE packets of all tracks.
    func goodbye() -> SharedBatch {
        state.withLock { state in
            var batch = PacketBatch()
            for sender in state.senders {
                sender.goodbye(
                    ticks: Self.ticks(at: state.position, sender, state),
                    utcNanoseconds: state.zeroUTCNanoseconds.clampedAdding(state.position),
                    to: &batch)
            }
            return SharedBatch(batch)
        }
    }

    /// The next sample; nil at the end of the reader and at the horizon.
    private static func next(
        _ reading: inout Cursor.Reading
    ) throws(ArchiveError) -> RecordedSample? {
        let sample: RecordedSample
        if !reading.ahead.isEmpty {
            sample = reading.ahead.removeFirst()
        } else if let read = try reading.reader.next() {
            sample = read
        } else {
            return nil
        }
        if !reading.isComplete, let horizon = reading.horizon, sample.dtsNanoseconds >= horizon {
            // The sample is used later.
            reading.ahead.insert(sample, at: 0)
            return nil
        }
        return sample
    }

    /// Applies the parameter sets of another file.
    private static func follow(
        _ formats: [TrackFormat], _ presentation: ServedPresentation, _ state: inout State
    ) -> Bool {
        state.senders.indices.allSatisfy { index in
            follow(formats, presentation, &state.senders[index])
        }
    }

    private static func follow(
        _ formats: [TrackFormat], _ presentation: ServedPresentation, _ sender: inout TrackSender
    ) -> Bool {
        let kind = presentation.tracks[sender.track].format.kind
        // A file may lack a track.
        guard let format = formats.first(where: { $0.kind == kind }) else { return true }
        return sender.follow(format)
    }

    private static func report(
        _ instant: Int64, to batch: inout PacketBatch, _ state: inout State
    ) {
        if let reported = state.reported, instant - reported < reportNanoseconds { return }
        state.reported = instant
        for sender in state.senders {
            sender.report(
                ticks: ticks(at: instant, sender, state),
                utcNanoseconds: state.zeroUTCNanoseconds.clampedAdding(instant), to: &batch)
        }
    }

    /// A session time on the timeline of a track's packets.
    private static func ticks(at instant: Int64, _ sender: TrackSender, _ state: State) -> Int64 {
        state.timeline.played(
            ticks: saturatingRescale(instant, from: .nanoseconds, to: sender.timescale),
            sender.timescale)
    }

    /// Reads a session when it is this owner's turn.
    private static func heavy<Result: Sendable>(
        _ session: String, for owner: WorkOwner, at site: ViewerSite,
        _ work: @escaping @Sendable (RecordingLibrary) throws -> Result
    ) async throws -> Result {
        try await ReadingThreads.$place.withValue(session) {
            try await site.runHeavy(for: owner) { try await site.read(work) }
        }
    }
}
