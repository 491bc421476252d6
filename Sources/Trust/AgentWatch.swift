import Glibc

/// Polls the agents' files. Reads them only when a name, inode, size, mode or status change time (`st_ctim`) has changed.
package struct AgentWatch: Sendable {
    private struct Mark: Hashable {
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int
        var mode: UInt32
    }

    private let directory: KeyDirectory
    private var marks: [String: Mark] = [:]
    private var lastFlaw: TrustError?

    package init(_ directory: KeyDirectory) {
        self.directory = directory
    }

    /// The agents, if their files have changed; nil otherwise. The first call always returns them.
    /// - Throws: once, when the files become unreadable: the agents read last remain in force.
    package mutating func changes() throws(TrustError) -> KeyDirectory.Agents? {
        do throws(TrustError) {
            let isFirst = marks.isEmpty
            let now = try look()
            guard isFirst || now != marks || lastFlaw != nil else { return nil }
            let agents = try directory.agents()
            marks = now
            lastFlaw = nil
            return agents
        } catch {
            if error == lastFlaw { return nil }
            lastFlaw = error
            throw error
        }
    }

    private func look() throws(TrustError) -> [String: Mark] {
        // The directory itself counts, so that there is always a mark.
        var marks = [".": mark(of: directory.agentsPath)]
        for name in try directory.agentNames() {
            marks[name] = mark(of: directory.agentPath(name))
        }
        return marks
    }

    /// The mark of a file. A file that was deleted since the directory was listed gets a mark that no existing file has.
    private func mark(of path: String) -> Mark {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return Mark(inode: 0, size: -1, seconds: 0, nanoseconds: 0, mode: 0)
        }
        return Mark(
            inode: UInt(status.st_ino), size: Int(status.st_size), seconds: status.st_ctim.tv_sec,
            nanoseconds: status.st_ctim.tv_nsec, mode: status.st_mode)
    }
}
