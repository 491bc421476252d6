import Archive
import Glibc
import Media

/// The sessions that are parts of others: those that collectors of a site began without its database.
///
/// Sessions that are attached to each other, directly or via others, are one session, also via one that no archive has.
/// The whole has the name and the timeline of the session that is attached to no other one. Of several such sessions, it is
/// the one whose name sorts first, which began first. The order of the archives has no influence.
struct SessionAttachments: Sendable {
    /// Where a session's zero is on the timeline of its whole.
    struct Position: Hashable, Sendable {
        /// The whole.
        var session: String
        var offsetNanoseconds: Int64
        var boundNanoseconds: UInt64
    }

    /// Position of each part, by session; sessions that are not parts have none.
    private let places: [String: Position]
    private let parts: [String: [String]]

    /// Whether a session may be a part or have parts, by its name: those of a site end with a collector's.
    static func isCandidate(_ session: String) -> Bool {
        session.utf8.count > nameLength && UTCTime(sessionName: session) != nil
    }

    /// Length of a session name without a collector.
    private static let nameLength = 24

    /// A session with a readable description.
    struct Described: Sendable {
        var session: String
        /// See ``SessionManifest/attached``.
        var attached: [SessionManifest.Attachment]
    }

    /// A neighbour in the graph of attached sessions.
    private struct Step {
        var session: String
        /// Its zero on the timeline of the neighbouring session.
        var offsetNanoseconds: Int64
        var boundNanoseconds: UInt64
    }

    /// - Parameter sessions: candidates of all archives, in any order.
    init(_ sessions: [Described]) {
        let names = Set(sessions.map(\.session))
        var steps: [String: [Step]] = [:]
        var attached: Set<String> = []
        for described in sessions {
            for edge in described.attached where edge.session != described.session {
                if names.contains(edge.session) { attached.insert(described.session) }
                steps[edge.session, default: []].append(
                    Step(
                        session: described.session, offsetNanoseconds: edge.offsetNanoseconds,
                        boundNanoseconds: edge.boundNanoseconds))
                steps[described.session, default: []].append(
                    Step(
                        session: edge.session,
                        offsetNanoseconds: (0 as Int64).clampedSubtracting(edge.offsetNanoseconds),
                        boundNanoseconds: edge.boundNanoseconds))
            }
        }
        var places: [String: Position] = [:]
        var parts: [String: [String]] = [:]
        // In unrelated archives, every session may be attached to another one.
        let wholes = steps.keys.sorted { one, other in
            (attached.contains(one) ? 1 : 0, one) < (attached.contains(other) ? 1 : 0, other)
        }
        for whole in wholes where places[whole] == nil && names.contains(whole) {
            places[whole] = Position(session: whole, offsetNanoseconds: 0, boundNanoseconds: 0)
            var next = [whole]
            while !next.isEmpty {
                var found: [String] = []
                for session in next {
                    guard let place = places[session] else { continue }
                    for step in (steps[session] ?? []).sorted(by: Self.precedes)
                    where places[step.session] == nil {
                        places[step.session] = Position(
                            session: whole,
                            offsetNanoseconds: place.offsetNanoseconds
                                .clampedAdding(step.offsetNanoseconds),
                            boundNanoseconds: place.boundNanoseconds
                                .clampedAdding(step.boundNanoseconds))
                        found.append(step.session)
                    }
                }
                parts[whole, default: []] += found.filter(names.contains)
                next = found.sorted()
            }
            places[whole] = nil
        }
        self.places = places.filter { names.contains($0.key) }
        self.parts = parts.filter { !$0.value.isEmpty }.mapValues { $0.sorted() }
    }

    private static func precedes(_ one: Step, _ other: Step) -> Bool {
        (one.session, one.boundNanoseconds, one.offsetNanoseconds)
            < (other.session, other.boundNanoseconds, other.offsetNanoseconds)
    }

    /// The position of a part; nil: the session is none.
    func place(of session: String) -> Position? { places[session] }

    /// The session that a session is a part of, or itself.
    func whole(of session: String) -> String { places[session]?.session ?? session }

    /// The parts of a whole, by name.
    func parts(of session: String) -> [String] { parts[session] ?? [] }
}

extension SessionAttachments {
    /// Longer than the bucket's own timeouts.
    private static let bucketPatienceNanoseconds: Int64 = 60_000_000_000

    /// Reads the attachments of an archive's sessions. Sessions with unreadable descriptions are omitted.
    /// - Parameter listed: its sessions.
    static func read(
        _ listed: [StoredEntry], of member: MergedStore.Member, memory: MergeMemory,
        waiting: StoreWaiting
    ) throws(ArchiveError) -> [Described] {
        var found: [Described] = []
        var unknown: [String] = []
        for entry in listed where entry.isFolder && isCandidate(entry.name) {
            if let known = memory.attachments(of: entry.name, in: member.name) {
                found.append(Described(session: entry.name, attached: known))
            } else {
                unknown.append(entry.name)
            }
        }
        let answers = try member.patience.each(
            unknown, in: member.layout ?? ArchiveLayout(root: member.name),
            nanoseconds: member.layout == nil ? bucketPatienceNanoseconds : nil
        ) { name throws(ArchiveError) -> SessionManifest? in
            do throws(ArchiveError) {
                return try SessionManifest(name, in: member.store)
            } catch {
                if error.isForStore, waiting == .strict { throw error }
                if error.code == ECANCELED { throw error }
                // Reading the session reports the error.
                return nil
            }
        }
        for (name, answer) in zip(unknown, answers) {
            guard case .value(let manifest?) = answer, manifest.session == name else { continue }
            memory.keep(manifest, in: member.name)
            found.append(Described(session: name, attached: manifest.attached ?? []))
        }
        return found
    }
}
