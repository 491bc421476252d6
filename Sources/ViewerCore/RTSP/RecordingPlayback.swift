import Archive
import HTTPTypes
import Library
import Media
import Recordings
import RTSPServer
import Synchronization

/// Reads a recording for one client, and packetizes it. File access is on the reading threads.
final class RecordingPlayback: Sendable {
    /// Packets that are sent together.
    struct Step: Sendable {
        /// Decoding time, nanoseconds of session time.
        var dueNanoseconds: Int64
        var batch: SharedBatch
    }

    /// Duration that is read at once.
    private static let chunkNanoseconds: Int64 = 500_000_000
    private static let chunkBytes = 4 << 20
    /// Samples that are searched for the first picture.
    private static let lookahead = 256
    private static let reportNanoseconds: Int64 = 5_000_000_000

    private struct State {
        var senders: [TrackSender]
        var reader: SampleReader?
        var ahead: [RecordedSample] = []
        var zeroUTCNanoseconds: Int64 = 0
        var reported: Int64?
        /// Session time of the newest sample, nanoseconds.
        var position: Int64
    }

    let presentation: ServedPresentation
    /// Session time of normal play time 0, nanoseconds.
    let beginningNanoseconds: Int64
    private let site: ViewerSite
    private let session: String
    private let source: String
    private let state: Mutex<State>

    private init(
        _ site: ViewerSite, session: String, source: String, beginningNanoseconds: Int64,
        presentation: ServedPresentation
    ) {
        self.site = site
        self.session = session
        self.source = source
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
    /// - Parameter from: unparsed, from the URL.
    /// - Throws: ``Problem`` if nothing is recorded there.
    static func open(
        _ source: String, in session: String, from: String?, at site: ViewerSite
    ) async throws -> RecordingPlayback {
        let memory = site.coverage
        return try await ReadingThreads.$place.withValue(session) {
            try await site.read { library in
                let recording = try library.recording(session)
                guard let recorded = recording.source(source) else { throw ViewerSite.noRecording }
                let moment = try RequestQuery.moment(from, "from", zero: recording.zero)
                var reader = SampleReader(recorded, from: moment)
                let ahead = try Self.first(&reader)
                guard let first = ahead.beginning else { throw ViewerSite.noRecording }
                let lane = try library.lane(of: source, in: session, remembering: memory)
                let last = lane?.recorded.last
                let duration = last.flatMap {
                    $0.isGrowing ? nil : max(0, $0.endNanoseconds - first.ptsNanoseconds)
                }
                return RecordingPlayback(
                    site, session: session, source: source,
                    beginningNanoseconds: first.ptsNanoseconds,
                    presentation: ServedPresentation(
                        name: source, formats: first.file.formats,
                        extent: .recorded(durationNanoseconds: duration)))
            }
        }
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

    /// Seeks.
    /// - Parameter nanoseconds: normal play time; nil keeps the position.
    /// - Returns: the start, at a keyframe.
    func begin(at nanoseconds: Int64?) async throws -> ServerSession.Beginning {
        let (session, source) = (session, source)
        let wanted =
            nanoseconds.map { beginningNanoseconds.clampedAdding($0) }
            ?? state.withLock(\.position)
        return try await read { library, state in
            let recording = try library.recording(session)
            guard let recorded = recording.source(source) else { throw ViewerSite.noRecording }
            var reader = SampleReader(recorded, from: wanted)
            let (samples, first) = try Self.first(&reader)
            guard let first else { throw ViewerSite.noRecording }
            state.reader = reader
            state.ahead = samples
            state.zeroUTCNanoseconds = recording.zero.nanoseconds
            state.reported = nil
            var tracks: [Int: ServerSession.Beginning.Track] = [:]
            for sender in state.senders {
                let ticks = saturatingRescale(
                    first.ptsNanoseconds, from: .nanoseconds, to: sender.timescale)
                tracks[sender.track] = .init(
                    sequence: sender.sequence, timestamp: sender.timestamp(ticks))
            }
            return ServerSession.Beginning(
                startNanoseconds: max(0, first.ptsNanoseconds - self.beginningNanoseconds),
                tracks: tracks)
        }
    }

    /// The next half second; empty at the end.
    func next() async throws -> [Step] {
        let presentation = presentation
        return try await read { _, state in
            var steps: [Step] = []
            var bytes = 0
            while let sample = try Self.next(&state) {
                guard Self.follow(sample.file.formats, presentation, &state) else { break }
                var batch = PacketBatch()
                let due = sample.dtsNanoseconds
                state.position = max(state.position, sample.ptsNanoseconds)
                Self.report(sample.ptsNanoseconds, to: &batch, &state)
                let index = state.senders.firstIndex {
                    presentation.tracks[$0.track].format.kind == sample.track
                }
                guard let index else { continue }
                batch.beginsDecodable =
                    sample.track == .video && sample.flags.contains(.keyframe)
                let media = try sample.read()
                do throws(BitstreamError) {
                    try state.senders[index].append(
                        media, ticks: sample.ptsTicks,
                        isKeyframe: sample.flags.contains(.keyframe), to: &batch)
                } catch {
                    state.senders[index].noteLoss()
                }
                guard !batch.isEmpty else { continue }
                steps.append(Step(dueNanoseconds: due, batch: SharedBatch(batch)))
                bytes += media.count
                if bytes >= Self.chunkBytes
                    || due - steps[0].dueNanoseconds >= Self.chunkNanoseconds
                {
                    break
                }
            }
            return steps
        }
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

    private static func next(_ state: inout State) throws(ArchiveError) -> RecordedSample? {
        if !state.ahead.isEmpty { return state.ahead.removeFirst() }
        return try state.reader?.next()
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

    /// Runs `work` with the state on a reading thread. The caller awaits each call, so calls do not overlap.
    private func read<Result: Sendable>(
        _ work: @escaping @Sendable (RecordingLibrary, inout State) throws -> Result
    ) async throws -> Result {
        try await ReadingThreads.$place.withValue(session) {
            try await site.read { [self] library in
                let outcome = state.withLock { state in
                    Swift.Result { try work(library, &state) }
                }
                return try outcome.get()
            }
        }
    }
}
