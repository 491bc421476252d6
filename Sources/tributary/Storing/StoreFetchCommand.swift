import Archive
import ArgumentParser
import Library
import ObjectStore
import Recordings
import Terminal
import Uploading

/// `tributary store fetch`: brings media back from the store to the disk.
struct StoreFetchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Brings sessions back from the store to the disk.",
        discussion: """
            Each part is compared with its digest. Sessions that are not on the disk are named by their IDs. A collector with \
            --keep-local may remove the copies again; 'tributary protect' keeps them. With --all, a new server gets everything that the \
            store has. With --all --without-media, a collector on a new server continues where the old one ended: it knows \
            what is recorded, and the agents send the rest.
            """)

    @OptionGroup var place: StoreArguments

    @Argument(help: ArgumentHelp("Sessions.", valueName: "session"))
    var sessions: [String] = []

    @Flag(help: "Fetch all sessions of the store.")
    var all = false

    @Flag(help: "Fetch descriptions, ledgers and proofs only: the media stays in the store.")
    var withoutMedia = false

    @OptionGroup(title: "Log") var log: LogFormatOptions

    func validate() throws {
        guard all != !sessions.isEmpty else {
            throw ValidationError("name sessions, or use --all")
        }
    }

    func run() throws {
        try withStoreErrors {
            let target = try place.place()
            let fetch = StoredSessionFetch(
                from: target, withMedia: !withoutMedia)
            var problems = 0
            let names = try all ? fetch.allSessionNames() : sessions.map(name)
            for (index, session) in names.enumerated() {
                if all, let hindrance = try fetch.hindrance(session) {
                    Program.complain(hindrance)
                    continue
                }
                guard let outcome = try run(fetch, session, of: target.bucket.name) else {
                    problems += 1
                    continue
                }
                guard outcome.isSession else { continue }
                print("\(session): \(outcome.segments) segments, \(ByteCount(outcome.bytes))")
                for problem in outcome.problems { Program.complain(problem) }
                problems += outcome.problems.count
                if let failure = outcome.failure {
                    let others = names.count - index - 1
                    throw Failure(
                        "\(failure); not fetched: \(outcome.missing) segments of \(session)"
                            + (others > 0 ? " and \(others) more sessions" : ""))
                }
            }
            guard problems == 0 else {
                throw Failure("not everything was fetched: see the \(problems) lines above")
            }
        }
    }

    /// Fetches a session.
    /// - Returns: nil, with a line, if it is one of all sessions, and cannot be fetched.
    /// - Throws: also if a session that was named does not exist.
    private func run(
        _ fetch: StoredSessionFetch, _ session: String, of store: String
    ) throws -> StoredSessionFetch.Outcome? {
        do throws(UploadError) {
            let outcome = try fetch.run(session) { _ in }
            guard outcome.isSession || all else {
                throw .setAside(
                    "there is no session \(session), neither here nor in \(store)")
            }
            return outcome
        } catch {
            guard all, case .setAside(let problem) = error else { throw error }
            Program.complain(problem)
            return nil
        }
    }

    /// A session of the disk by ID, name or tag; otherwise the ID of one in the store.
    private func name(_ text: String) throws -> String {
        do {
            return try place.archive.finder.session(named: text).name
        } catch let error as LibraryError {
            switch error {
            case .noSession, .noArchive, .empty:
                guard ArchiveLayout.isValidName(text) else { throw error }
                return text
            default: throw error
            }
        }
    }
}
