import Archive
import Media
import Messaging
import Wire

/// Merges several sources on their timeline: the next item, and when it is due. A value, except for its players' reads.
struct ReplaySchedule {
    /// The next item of a source.
    struct Entry {
        /// Index of the source.
        var source: Int
        var item: ReplayItem
    }

    private let makePlayers: () throws(ReplayError) -> [any SourcePlayer]
    private var players: [any SourcePlayer]
    /// The next item of each player; nil at its end.
    private var ahead: [ReplayItem?] = []
    private let loops: Bool
    /// Added to recorded times in the present round.
    private(set) var roundOffset: Int64 = 0
    private(set) var rounds = 1
    /// The first presented instant of the recording, and the end of its last sample, nanoseconds.
    private(set) var start: Int64
    private var end: Int64

    /// - Parameter makePlayers: the sources from their beginning; called for each round.
    init(
        loops: Bool, _ makePlayers: @escaping () throws(ReplayError) -> [any SourcePlayer]
    ) throws(ReplayError) {
        self.loops = loops
        self.makePlayers = makePlayers
        players = try makePlayers()
        start = .max
        end = .min
        for index in players.indices {
            let first = try players[index].next()
            ahead.append(first)
            if case .samples(let samples)? = first?.content {
                // Priming packets are followed by presented ones.
                start = min(
                    start, samples.firstPresentedNanoseconds ?? samples.runs.times.upperBound)
            } else if let first, first.timeNanoseconds != .min {
                start = min(start, first.timeNanoseconds)
            }
        }
        if start == .max { start = 0 }
    }

    /// Names and formats of the sources, by index.
    var sources: [(name: String, formats: [TrackFormat])] {
        players.map { ($0.name, $0.formats) }
    }

    /// Due time of the next item, nanoseconds of the recording's timeline, rounds included; nil at the end.
    var nextNanoseconds: Int64? {
        ahead.compactMap { $0?.timeNanoseconds }.min().map { time in
            time == .min ? time : time &+ roundOffset
        }
    }

    /// Removes and returns the next item, with times shifted by the round.
    mutating func take() throws(ReplayError) -> Entry? {
        var source: Int?
        for (index, item) in ahead.enumerated() {
            guard let item else { continue }
            if source.flatMap({ ahead[$0]?.timeNanoseconds }).map({ item.timeNanoseconds < $0 })
                ?? true
            {
                source = index
            }
        }
        guard let source, var item = ahead[source] else { return nil }
        if case .samples(let samples) = item.content {
            end = max(end, samples.runs.times.upperBound)
        }
        item = item.moved(byNanoseconds: roundOffset)
        ahead[source] = try next(source)
        if loops, ahead.allSatisfy({ $0 == nil }) { try beginAgain() }
        return Entry(source: source, item: item)
    }

    private mutating func next(_ source: Int) throws(ReplayError) -> ReplayItem? {
        while let item = try players[source].next() {
            // An encoder's delay makes sense once.
            guard rounds > 1, case .samples(let samples) = item.content else { return item }
            guard let rest = samples.withoutPriming else { continue }
            var item = item
            item.content = .samples(rest)
            return item
        }
        return nil
    }

    private mutating func beginAgain() throws(ReplayError) {
        // A recording without samples would be repeated endlessly without a wait.
        guard end > start else { return }
        rounds += 1
        roundOffset &+= end - start
        let before = players.map(\.formats)
        players = try makePlayers()
        guard players.map(\.formats) == before else {
            throw ReplayError(
                "the recording changed during playback and cannot be looped: leave --loop out")
        }
        for index in players.indices { ahead[index] = try next(index) }
    }
}

extension ReplayItem {
    fileprivate func moved(byNanoseconds shift: Int64) -> ReplayItem {
        guard shift != 0 else { return self }
        var moved = self
        if timeNanoseconds != .min { moved.timeNanoseconds &+= shift }
        switch content {
        case .samples(let samples): moved.content = .samples(samples.moved(byNanoseconds: shift))
        case .loss(var loss):
            loss.startNanoseconds &+= shift
            moved.content = .loss(loss)
        case .format: break
        }
        return moved
    }
}

extension ReplayedSamples {
    /// The samples that are not priming; nil when there are none.
    fileprivate var withoutPriming: ReplayedSamples? {
        guard runs.contains(where: { run in run.flags.contains { $0.contains(.priming) } }) else {
            return self
        }
        var kept: [SampleRun] = []
        var bytes: [UInt8] = []
        payload.withUnsafeBytes { memory in
            var offset = 0
            for run in runs {
                var part = SampleRun(
                    track: run.track, sizes: [], dtsNanoseconds: [], ptsOffsetsNanoseconds: [],
                    durationsNanoseconds: [], flags: [])
                for index in 0..<run.count {
                    let range = offset..<offset + Int(run.sizes[index])
                    offset = range.upperBound
                    guard !run.flags(at: index).contains(.priming) else { continue }
                    part.sizes.append(run.sizes[index])
                    part.dtsNanoseconds.append(run.dtsNanoseconds[index])
                    part.ptsOffsetsNanoseconds.append(
                        run.ptsNanoseconds(at: index) - run.dtsNanoseconds[index])
                    part.durationsNanoseconds.append(run.durationNanoseconds(at: index))
                    part.flags.append(run.flags(at: index))
                    bytes += memory[range]
                }
                if part.count > 0 { kept.append(part) }
            }
        }
        guard !kept.isEmpty else { return nil }
        return ReplayedSamples(
            runs: kept, payload: SharedBytes(bytes), digest: Digest(of: bytes).bytes)
    }
}
