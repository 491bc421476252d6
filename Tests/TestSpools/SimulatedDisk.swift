import Glibc
package import Spooling
import Synchronization

/// A spool's disk with faults from a seed: lost and torn writes, lack of space, and decay.
///
/// Data and names are cached until synchronised. A power cut keeps whatever was synchronised; each other page survives
/// or not, and a prefix of the name changes survives, as on journalling file systems. A killed process loses nothing.
package final class SimulatedDisk: SpoolStorage {
    fileprivate struct File {
        var synced: [UInt8] = []
        var cached: [UInt8] = []
    }

    fileprivate enum NameChange {
        case link(String, Int)
        case unlink(String)
        case rename(String, String)
    }

    fileprivate struct State {
        var random: SeededGenerator
        var files: [Int: File] = [:]
        var nextFile = 0
        var names: [String: Int] = [:]
        var durableNames: [String: Int] = [:]
        var changes: [NameChange] = []
        var operations = 0
        var stopsAt: Int?
        var capacityBytes: Int?
        var refusal: Int32?
        var unreadable: Set<String> = []
    }

    /// The unit that survives or is lost.
    private static let pageBytes = 4_096

    package let path = "disk"
    private let state: Mutex<State>

    package init(seed: UInt64) {
        state = Mutex(State(random: SeededGenerator(seed: seed)))
    }

    // MARK: Trouble

    /// Number of changes requested so far.
    package var operations: Int { state.withLock { $0.operations } }

    /// Does only part of the `count`th change from now and fails every later one: the process is dead.
    package func stop(afterOperations count: Int) {
        state.withLock { $0.stopsAt = $0.operations + count }
    }

    /// Restarts the process, which finds its writes.
    package func restart() { state.withLock { $0.stopsAt = nil } }

    /// Cuts the power and restores it.
    package func cutPower() {
        state.withLock { state in
            state.stopsAt = nil
            var names = state.durableNames
            let survives = Int.random(in: 0...state.changes.count, using: &state.random)
            for change in state.changes[..<survives] { change.apply(to: &names) }
            state.names = names
            state.durableNames = names
            state.changes = []
            for number in state.files.keys.sorted() {
                guard let file = state.files[number] else { continue }
                let kept = Self.afterPowerCut(file, using: &state.random)
                state.files[number] = File(synced: kept, cached: kept)
            }
        }
    }

    private static func afterPowerCut(
        _ file: File, using random: inout SeededGenerator
    ) -> [UInt8] {
        let size = Int.random(in: file.synced.count...file.cached.count, using: &random)
        var kept = file.synced + [UInt8](repeating: 0, count: size - file.synced.count)
        var page = file.synced.count / pageBytes * pageBytes
        while page < size {
            let range = max(page, file.synced.count)..<min(page + pageBytes, size)
            if Bool.random(using: &random) {
                kept.replaceSubrange(range, with: file.cached[range])
            }
            page += pageBytes
        }
        return kept
    }

    /// A disk's state, for restoring a machine's snapshot later.
    package struct Snapshot: Sendable {
        fileprivate let files: [Int: File]
        fileprivate let names: [String: Int]
    }

    /// The present content of the disk.
    package func snapshot() -> Snapshot {
        state.withLock { Snapshot(files: $0.files, names: $0.names) }
    }

    /// Restores the disk's state.
    package func restore(_ snapshot: Snapshot) {
        state.withLock { state in
            state.stopsAt = nil
            state.files = snapshot.files.mapValues {
                File(synced: $0.cached, cached: $0.cached)
            }
            state.names = snapshot.names
            state.durableNames = snapshot.names
            state.changes = []
        }
    }

    /// Limits the size; nil: unlimited.
    package func setCapacity(_ bytes: Int?) { state.withLock { $0.capacityBytes = bytes } }

    /// Makes every change fail with this error (`EROFS`, `EIO`); nil: none.
    package func refuseChanges(_ errno: Int32?) { state.withLock { $0.refusal = errno } }

    /// Makes a file's sectors unreadable.
    package func makeUnreadable(_ name: String) {
        state.withLock { _ = $0.unreadable.insert(name) }
    }

    /// Flips one bit of a file.
    package func rot(_ name: String, byte: Int, bit: Int = 0) {
        state.withLock { state in
            guard let number = state.names[name], var file = state.files[number],
                file.cached.indices.contains(byte)
            else { return }
            file.cached[byte] ^= 1 << bit
            if file.synced.indices.contains(byte) { file.synced[byte] ^= 1 << bit }
            state.files[number] = file
        }
    }

    /// A file's bytes as a process sees them.
    package func bytes(of name: String) -> [UInt8] {
        state.withLock { state in state.names[name].flatMap { state.files[$0]?.cached } ?? [] }
    }

    /// A file's bytes as a power cut would leave them at least.
    package func durableBytes(of name: String) -> [UInt8] {
        state.withLock { state in
            state.durableNames[name].flatMap { state.files[$0]?.synced } ?? []
        }
    }

    // MARK: Storage

    package func names() throws(SpoolError) -> [String] {
        state.withLock { $0.names.keys.sorted() }
    }

    package func append(
        _ pieces: [UnsafeRawBufferPointer], to name: String, at offset: Int
    ) throws(SpoolError) {
        let bytes = pieces.flatMap { Array($0) }
        try change("write", name) { state, isLast throws(SpoolError) in
            var number = state.names[name]
            if number == nil {
                number = state.nextFile
                state.nextFile += 1
                state.files[state.nextFile - 1] = File()
                state.apply(.link(name, state.nextFile - 1))
            }
            guard let number, var file = state.files[number] else { return }
            precondition(file.cached.count == offset, "files only grow at their end")
            let used = state.names.values.reduce(0) { $0 + (state.files[$1]?.cached.count ?? 0) }
            let room = max(0, (state.capacityBytes ?? .max) - used)
            let cut = isLast ? Int.random(in: 0...bytes.count, using: &state.random) : bytes.count
            file.cached += bytes.prefix(min(room, cut))
            state.files[number] = file
            guard room >= bytes.count else {
                throw SpoolError.system(operation: "write", path: name, errno: ENOSPC)
            }
        }
    }

    package func read(_ name: String, at offset: Int, limit: Int) throws(SpoolError) -> [UInt8] {
        let bytes: [UInt8]? = state.withLock { state in
            guard !state.unreadable.contains(name), let number = state.names[name] else {
                return nil
            }
            return Array(state.files[number]?.cached.dropFirst(offset).prefix(limit) ?? [])
        }
        guard let bytes else { throw .system(operation: "read", path: name, errno: EIO) }
        return bytes
    }

    package func sizeBytes(of name: String) throws(SpoolError) -> Int {
        bytes(of: name).count
    }

    package func rename(_ name: String, to other: String) throws(SpoolError) {
        try change("rename", name) { state, isLast throws(SpoolError) in
            if !isLast { state.apply(.rename(name, other)) }
        }
    }

    package func delete(_ name: String) throws(SpoolError) {
        try change("delete", name) { state, isLast throws(SpoolError) in
            if !isLast, state.names[name] != nil { state.apply(.unlink(name)) }
        }
    }

    package func synchronize(_ names: [String]) throws(SpoolError) {
        try change("synchronise", names.first ?? "") { state, isLast throws(SpoolError) in
            guard !isLast else { return }
            for name in names {
                guard let number = state.names[name], let file = state.files[number] else {
                    continue
                }
                state.files[number] = File(synced: file.cached, cached: file.cached)
            }
            state.durableNames = state.names
            state.changes = []
        }
    }

    /// Applies a change unless the process is dead or the disk refuses; `isLast`: the process dies within it.
    private func change(
        _ operation: String, _ name: String,
        _ body: (inout State, _ isLast: Bool) throws(SpoolError) -> Void
    ) throws(SpoolError) {
        let failure: SpoolError? = state.withLock { state in
            if let refusal = state.refusal {
                return .system(operation: operation, path: name, errno: refusal)
            }
            state.operations += 1
            let rest = state.stopsAt.map { $0 - state.operations } ?? .max
            guard rest >= 0 else { return .system(operation: operation, path: name, errno: ESRCH) }
            do throws(SpoolError) {
                try body(&state, rest == 0)
            } catch {
                return error
            }
            return rest == 0 ? .system(operation: operation, path: name, errno: ESRCH) : nil
        }
        if let failure { throw failure }
    }
}

extension SimulatedDisk.State {
    fileprivate mutating func apply(_ change: SimulatedDisk.NameChange) {
        change.apply(to: &names)
        changes.append(change)
    }
}

extension SimulatedDisk.NameChange {
    fileprivate func apply(to names: inout [String: Int]) {
        switch self {
        case .link(let name, let file): names[name] = file
        case .unlink(let name): names[name] = nil
        case .rename(let name, let other):
            names[other] = names.removeValue(forKey: name)
        }
    }
}
