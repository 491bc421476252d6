import Archive
import Library
import Recordings
import ReplayCore
import Terminal

/// The recording to play.
struct ReplayInput: Sendable {
    /// Name for messages.
    let name: String
    /// The session's zero, nanoseconds since 1970 (UTC); nil: unknown.
    let zeroUTCNanoseconds: Int64?
    /// Names of the sources.
    let sources: [String]
    /// End of the last source, nanoseconds of the recording's timeline; nil: unknown.
    let endNanoseconds: Int64?
    /// The session's sources that are played; none of a spool.
    let recorded: [RecordedSource]
    /// The part of them that is played, nanoseconds of session time.
    let window: (from: Int64?, until: Int64?)
    /// The sources from their beginning.
    let players: @Sendable () throws(ReplayError) -> [any SourcePlayer]

    /// By which the recording was found; nil: a spool.
    private let finder: SessionFinder?

    /// Ends a replay that has played what it can.
    /// - Throws: the exit status, if an archive was left out.
    func checkComplete() throws { try finder?.checkComplete() }

    init(_ command: ReplayCommand) throws {
        if command.inputs.count == 1, SpoolInput.isSpool(command.inputs[0]) {
            try self.init(spool: command.inputs[0], command)
        } else {
            let (finder, session) = try withArchiveErrors {
                let finder = try command.archive.finder()
                return (finder, try finder.recording(command.inputs))
            }
            try self.init(session: session, of: finder, command)
        }
    }

    private init(
        session: RecordedSession, of finder: SessionFinder, _ command: ReplayCommand
    ) throws {
        self.finder = finder
        let zero = session.zero.nanoseconds
        let from = command.from?.sessionNanoseconds(zeroUTCNanoseconds: zero)
        let until = command.until?.sessionNanoseconds(zeroUTCNanoseconds: zero)
        if let from, let until, from >= until {
            throw UsageError("--from must be before --until")
        }
        try withArchiveErrors {
            try AbsentMediaCheck(finder, command.inputs, session).run(
                sources: command.source, from: from, until: until)
        }
        // A collector records the session again, and a container has one rendition of each source.
        var chosen =
            ContainerTarget.isCollector(command.to) ? session.sources : session.mainSources
        for wanted in command.source where session.source(wanted) == nil {
            let names = session.sources.map(\.name).joined(separator: ", ")
            throw Failure("no source '\(wanted)' in \(session.name): use one of \(names)")
        }
        if !command.source.isEmpty {
            chosen = session.sources.filter { command.source.contains($0.name) }
        }
        guard !chosen.isEmpty else { throw Failure("\(session.name) has no recordings") }
        name = session.name
        zeroUTCNanoseconds = zero
        sources = chosen.map(\.name)
        let ends = try withArchiveErrors {
            try chosen.compactMap { try $0.extent()?.endNanoseconds }
        }
        endNanoseconds = [ends.max(), until].compactMap { $0 }.min()
        recorded = chosen
        window = (from, until)
        let players = chosen
        self.players = { () throws(ReplayError) in
            var result: [any SourcePlayer] = []
            for source in players {
                if let player = try RecordingPlayer(source, from: from, to: until) {
                    result.append(player)
                }
            }
            return result
        }
    }

    private init(spool: String, _ command: ReplayCommand) throws {
        guard command.from == nil, command.until == nil else {
            throw UsageError("a spool has no session timeline: leave out --from and --until")
        }
        let name = SpoolInput.name(of: spool)
        if let other = command.source.first(where: { $0 != name }) {
            throw Failure("no source '\(other)' in \(spool): it holds \(name)")
        }
        self.name = name
        finder = nil
        zeroUTCNanoseconds = nil
        sources = [name]
        recorded = []
        window = (nil, nil)
        endNanoseconds = nil
        players = { () throws(ReplayError) in [try SpoolPlayer(spool, name: name)] }
    }
}
