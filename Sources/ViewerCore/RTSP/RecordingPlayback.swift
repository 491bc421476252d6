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
        /// Decoding time, nanoseconds of session time.
        var dueNanoseconds: Int64
        /// Presentation time, nanoseconds of session time.
        var positionNanoseconds: Int64
        var batch: SharedBatch
    }

    /// Reads samples from a start on.
    final class Cursor: Sendable {
        fileprivate struct Reading {
            var reader: SampleReader
            /// Samples that were read while the first picture was searched.
            var ahead: [RecordedSample]
        }

        /// The first picture, or the first sound without pictures; nanoseconds of session time.
        let startNanoseconds: Int64
        /// Exclusive, session time; nil: the end of the recording.
        let endNanoseconds: Int64?
        fileprivate let zeroUTCNanoseconds: Int64
        fileprivate let reading: Mutex<Reading>

        /// Nil if nothing is recorded in the range.
        fileprivate init?(
            _ source: RecordedSource, from start: Int64?, until end: Int64?, zero: UTCTime
        ) throws(ArchiveError) {
            var reader = SampleReader(source, from: start, to: end)
            let (ahead, beginning) = try RecordingPlayback.first(&reader)
            guard let beginning else { return nil }
            startNanoseconds = beginning.ptsNanoseconds
            endNanoseconds = end
            zeroUTCNanoseconds = zero.nanoseconds
            reading = Mutex(Reading(reader: reader, ahead: ahead))
        }
    }

    /// Duration that is read at once.
    private static let chunkNanoseconds: Int64 = 500_000_000
    private static let chunkBytes = 4 << 20
    /// Samples that are searched for the first picture.
    private static let lookahead = 256
    private static let reportNanoseconds: Int64 = 5_000_000_000

    private struct State {
        var senders: [TrackSender]
        var zeroUTCNanoseconds: Int64 = 0
        var reported: Int64?
        /// Session time of the newest sample that was sent, or else of the start, nanoseconds.
        var position: Int64
        /// Session time at which playback stops, nanoseconds.
        var end: Int64?
    }

    let presentation: ServedPresentation
    /// Session time of normal play time 0, nanoseconds.
    let beginningNanoseconds: Int64
    private let site: ViewerSite
    private let session: String
    private let source: String
    private let owner: WorkOwner
    private let state: Mutex<State>

    private init(
        _ site: ViewerSite, session: String, source: String, for owner: WorkOwner,
        beginningNanoseconds: Int64, presentation: ServedPresentation
    ) {
        self.site = site
        self.session = session
        self.source = source
        self.owner = owner
        self.beginningNanoseconds = beginningNanoseconds
        self.presentation = presentation
        let senders = presentation.tracks.compactMap {
            TrackSender(
                $0, random: (UInt64.random(in: .min ... .max), UInt64.random(in: .min ... .max)))
        }
        state = Mutex(State(senders: senders, position: beginningNanoseconds))
    }

    /// SSRC of each track.
    var sources: [UInt32] { state.withLock { $0.senders.map(\.source) } }

    /// Opens a recording, and finds its start and tracks.
    /// - Parameters:
    ///   - from: unparsed, from the URL.
    ///   - owner: reading from a late start is scheduled fairly between owners.
    /// - Throws: ``Problem`` if nothing is recorded there.
    static func open(
        _ source: String, in session: String, from: String?, for owner: WorkOwner,
        at site: ViewerSite
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
                    name: source, formats: first.file.formats,
                    extent: .recorded(durationNanoseconds: duration)))
        }
    }

    /// Whether a source is still being recorded. Its last file says nothing about that while the next one is begun.
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
    /// - Throws: 416 if nothing is recorded in the range.
    func seek(to range: PlayRange) async throws -> Cursor {
        let (session, source) = (session, source)
        let (start, end) = limits(of: range)
        return try await Self.heavy(session, for: owner, at: site) { library in
            let recording = try library.recording(session)
            guard let recorded = recording.source(source) else { throw ViewerSite.noRecording }
            guard
                let cursor = try Cursor(recorded, from: start, until: end, zero: recording.zero)
            else {
                throw Problem(.rangeNotSatisfiable, "nothing is recorded in this range")
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
            state.position = cursor.startNanoseconds
            state.end = cursor.endNanoseconds
            var tracks: [Int: ServerSession.Beginning.Track] = [:]
            for sender in state.senders {
                let ticks = saturatingRescale(
                    cursor.startNanoseconds, from: .nanoseconds, to: sender.timescale)
                tracks[sender.track] = .init(
                    sequence: sender.sequence, timestamp: sender.timestamp(ticks))
            }
            return ServerSession.Beginning(
                startNanoseconds: max(
                    0, cursor.startNanoseconds.clampedSubtracting(beginningNanoseconds)),
                endNanoseconds: end, tracks: tracks)
        }
    }

    /// The next half second; empty at the end.
    func next(_ cursor: Cursor) async throws -> [Step] {
        try await ReadingThreads.$place.withValue(session) {
            try await site.read { [self] _ in
                try cursor.reading.withLock { reading in try steps(&reading) }
            }
        }
    }

    private func steps(_ reading: inout Cursor.Reading) throws -> [Step] {
        var steps: [Step] = []
        var bytes = 0
        while let sample = try Self.next(&reading) {
            let media = try sample.read()
            let batch = state.withLock { state in
                Self.packets(of: sample, media, presentation, &state)
            }
            guard let batch else { break }
            guard !batch.isEmpty else { continue }
            let due = sample.dtsNanoseconds
            steps.append(
                Step(
                    dueNanoseconds: due, positionNanoseconds: sample.ptsNanoseconds,
                    batch: SharedBatch(batch)))
            bytes += media.count
            if bytes >= Self.chunkBytes || due - steps[0].dueNanoseconds >= Self.chunkNanoseconds {
                break
            }
        }
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
        report(sample.ptsNanoseconds, to: &batch, &state)
        batch.beginsDecodable = sample.track == .video && sample.flags.contains(.keyframe)
        do throws(BitstreamError) {
            try state.senders[index].append(
                media, ticks: sample.ptsTicks, isKeyframe: sample.flags.contains(.keyframe),
                to: &batch)
        } catch {
            state.senders[index].noteLoss()
        }
        return batch
    }

    /// A step was sent: a later start without a range is there.
    func note(sent step: Step) {
        state.withLock { $0.position = step.positionNanoseconds }
    }

    /// BYE packets of all tracks.
    func goodbye() -> SharedBatch {
        state.withLock { state in
            var batch = PacketBatch()
            for sender in state.senders {
                sender.goodbye(
                    ticks: saturatingRescale(
                        state.position, from: .nanoseconds, to: sender.timescale),
                    utcNanoseconds: state.zeroUTCNanoseconds.clampedAdding(state.position),
                    to: &batch)
            }
            return SharedBatch(batch)
        }
    }

    private static func next(
        _ reading: inout Cursor.Reading
    ) throws(ArchiveError) -> RecordedSample? {
        if !reading.ahead.isEmpty { return reading.ahead.removeFirst() }
        return try reading.reader.next()
    }

    /// Applies the parameter sets of another file.
    private static func follow(
        _ formats: [TrackFormat], _ presentation: ServedPresentation, _ state: inout State
    ) -> Bool {
        let new = ServedPresentation(
            name: presentation.name, formats: formats, extent: presentation.extent)
        for index in state.senders.indices {
            let kind = presentation.tracks[state.senders[index].track].format.kind
            // A file may lack a track.
            guard let format = new.tracks.first(where: { $0.format.kind == kind })?.format else {
                continue
            }
            guard state.senders[index].follow(format) else { return false }
        }
        return true
    }

    private static func report(
        _ instant: Int64, to batch: inout PacketBatch, _ state: inout State
    ) {
        if let reported = state.reported, instant - reported < reportNanoseconds { return }
        state.reported = instant
        for sender in state.senders {
            sender.report(
                ticks: saturatingRescale(instant, from: .nanoseconds, to: sender.timescale),
                utcNanoseconds: state.zeroUTCNanoseconds.clampedAdding(instant), to: &batch)
        }
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
