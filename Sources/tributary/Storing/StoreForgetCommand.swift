import Archive
import ArgumentParser
import Media
import Terminal
import Uploading

/// `tributary store forget`: removes local copies that the store is proven to have.
struct StoreForgetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget",
        abstract: "Removes local copies of segments that the store is proven to have.",
        discussion: """
            The store is asked for each segment directly before its copy is removed. The recordings stay in the archive: the proofs, \
            ledgers and descriptions stay on the disk. Protected sessions keep their copies.
            """)

    @OptionGroup var place: StoreArguments

    @Argument(help: ArgumentHelp("Sessions. (default: all)", valueName: "session"))
    var sessions: [String] = []

    @Option(
        help: ArgumentHelp(
            "Only segments that ended longer ago than this, such as 24h.", valueName: "time"))
    var older: TimeSpan?

    @Flag(help: "Only print what would be removed.")
    var dryRun = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    func run() throws {
        try withStoreErrors {
            let copies = LocalCopies(of: try place.place())
            let before = older.map {
                SystemClock.utc.nowNanoseconds.clampedSubtracting($0.nanoseconds)
            }
            var problems = 0
            let names = try place.sessions(sessions)
            for (index, session) in names.enumerated() {
                let outcome = try copies.remove(session, endedBefore: before, isDryRun: dryRun)
                if outcome.segments > 0 {
                    print(
                        "\(session): \(dryRun ? "would remove" : "removed") \(outcome.segments) local copies, \(ByteCount(outcome.bytes))"
                    )
                }
                for problem in outcome.problems { Program.complain(problem) }
                problems += outcome.problems.count
                if let failure = outcome.failure {
                    let others = names.count - index - 1
                    throw Failure(
                        "\(failure); the other copies of \(session) stay"
                            + (others > 0 ? ", and those of \(others) more sessions" : ""))
                }
            }
            if problems > 0 { throw Failure("not every copy was removed: see the lines above") }
        }
    }
}
