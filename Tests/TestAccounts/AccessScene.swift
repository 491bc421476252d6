package import Accounts
package import Threads

/// A file of accounts and its reader.
package final class AccessScene: Sendable {
    package static let address = "192.0.2.1"

    package let place = AccessPlace()
    package let lines = ReportedLines()
    package let hashing: BlockingWorkQueue
    /// Without the pause after wrong guesses.
    package let slowLanes = SlowLanes(pause: .zero)

    package init(hashing: BlockingWorkQueue = Access.hashingQueue()) { self.hashing = hashing }

    package var users: UserFile { place.users }

    package func add(
        _ name: String, _ password: String = AccessSample.password, role: Role? = nil,
        sources: SourceScope? = nil, replacing: Bool = false
    ) throws {
        try users.add(
            name, password: password, cost: .least, role: role, sources: sources,
            replacing: replacing)
    }

    package func access(isSecure: Bool = false, hasAccounts: Bool = true) throws -> Access {
        try Access(
            users: hasAccounts ? users : nil, isSecure: isSecure, now: AccessSample.time(0),
            hashing: hashing, slowLanes: slowLanes
        ) { [lines] in lines.add($0) }
    }
}
