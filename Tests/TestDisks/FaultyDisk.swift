import Archive
import CLinux
import Glibc
import Synchronization
import TestSpools

/// A disk of real files with faults from a seed: torn writes, lost writes, lack of space and errors.
///
/// Every change is applied to the real file immediately, where readers see it, as in the page cache. The disk also
/// records the durable state. A power cut keeps in the real directory whatever was synchronised; each other page has
/// any of its states since then, and a prefix of the name changes survives, as on journalling file systems. A killed
/// process loses only its current write.
package final class FaultyDisk: Disk {
    struct State {
        var random: SeededGenerator
        var files: [Int: FaultyFile] = [:]
        var nextFile = 1
        var names = NameTable()
        var durableNames = NameTable()
        var changes: [NameTable.Change] = []
        /// By descriptor.
        var open: [Int32: Int] = [:]
        var operations = 0
        var stopsAt: Int?
        var isDead = false
        var capacityBytes: Int?
        var faultOneIn: Int?
        var badPaths: [String: Int32] = [:]
        var isDetached = false
        /// For tests that detect a missing `fdatasync`.
        var ignoresSynchronization = false
        private(set) var faults = 0

        mutating func countFault() { faults += 1 }
    }

    package let root: String
    private let system = SystemDisk()
    private let state: Mutex<State>

    /// - Parameter root: an existing empty directory.
    package init(root: String, seed: UInt64) {
        self.root = root
        state = Mutex(State(random: SeededGenerator(seed: seed)))
    }

    // MARK: Trouble

    /// Number of changes requested so far.
    package var operations: Int { state.withLock { $0.operations } }
    /// Number of injected errors so far.
    package var faults: Int { state.withLock { $0.faults } }
    /// The process has been stopped within a change.
    package var isDead: Bool { state.withLock { $0.isDead } }

    /// Does only part of the `count`th change from now and fails every later one: the process is dead.
    package func stop(afterOperations count: Int) {
        state.withLock { $0.stopsAt = $0.operations + count }
    }

    /// Limits the size; nil: unlimited.
    package func setCapacity(_ bytes: Int?) { state.withLock { $0.capacityBytes = bytes } }

    /// Remaining space, bytes.
    package var freeBytes: Int {
        state.withLock { max(0, ($0.capacityBytes ?? 1 << 40) - $0.usedBytes) }
    }

    /// Makes one change in `oneIn` fail with EIO at random; nil: none.
    package func setFaults(oneIn: Int?) { state.withLock { $0.faultOneIn = oneIn } }

    /// Changes of the entry at a path fail; nil: they succeed again.
    package func setFault(_ errno: Int32?, at path: String) {
        state.withLock { $0.badPaths[path] = errno }
    }

    /// Whether the archive's path leads elsewhere.
    package func setDetached(_ isDetached: Bool) { state.withLock { $0.isDetached = isDetached } }

    package func isAttached() -> Bool { state.withLock { !$0.isDetached } }

    /// Whether `fdatasync` reports success without synchronising.
    package func setIgnoresSynchronization(_ ignores: Bool) {
        state.withLock { $0.ignoresSynchronization = ignores }
    }

    /// Flips one bit of a file, on disk and in memory.
    package func rot(_ path: String, byte: Int, bit: Int) {
        let value: UInt8? = state.withLock { state in
            guard case .file(let number) = state.names[path] else { return nil }
            return state.files[number]?.flip(byte, bit)
        }
        guard var value else { return }
        let descriptor = CLinux_open(path, O_WRONLY | O_CLOEXEC, 0)
        pwrite(descriptor, &value, 1, off_t(byte))
        Glibc.close(descriptor)
    }

    /// The process is killed: a new one finds its writes.
    package func restart() {
        state.withLock { state in
            state.stopsAt = nil
            state.isDead = false
            state.open = [:]
        }
    }

    /// Cuts the power: the real directory has what survived.
    package func cutPower() {
        let (names, files) = state.withLock { state in
            state.stopsAt = nil
            state.isDead = false
            state.open = [:]
            let survives = Int.random(in: 0...state.changes.count, using: &state.random)
            var names = state.durableNames
            for change in state.changes[..<survives] { names.apply(change) }
            state.names = names
            state.durableNames = names
            state.changes = []
            for number in state.files.keys.sorted() {
                guard let file = state.files[number] else { continue }
                state.files[number] = FaultyFile(file.afterPowerCut(using: &state.random))
            }
            return (names, state.files)
        }
        clear(root)
        for path in names.paths {
            switch names[path] {
            case .directory: mkdir(path, 0o755)
            case .file(let number): write(files[number]?.cached ?? [], to: path)
            case nil: continue
            }
        }
    }

    private func clear(_ directory: String) {
        guard let names = try? FileSystem.names(in: directory) else { return }
        for name in names {
            let path = "\(directory)/\(name)"
            if FileSystem.isDirectory(path) {
                clear(path)
                rmdir(path)
            } else {
                Glibc.unlink(path)
            }
        }
    }

    private func write(_ bytes: [UInt8], to path: String) {
        let descriptor = CLinux_open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o644)
        precondition(descriptor >= 0, "a simulated disk has room: \(path)")
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes {
                pwrite(
                    descriptor, $0.baseAddress?.advanced(by: written), $0.count - written,
                    off_t(written))
            }
            precondition(count > 0, "a simulated disk has room")
            written += count
        }
        Glibc.close(descriptor)
    }
}

// MARK: - Calls

extension FaultyDisk {
    /// A change's outcome.
    private enum Fate {
        case done
        /// The process dies within it.
        case last
        case failed(Int32)
    }

    /// Decides the outcome of a change of these paths.
    private func fate(_ paths: [String]) -> Fate {
        state.withLock { state in
            if state.isDead { return .failed(ESRCH) }
            state.operations += 1
            if let stopsAt = state.stopsAt, state.operations >= stopsAt {
                state.isDead = true
                return .last
            }
            for path in paths {
                if let code = state.badPaths[path] {
                    state.countFault()
                    return .failed(code)
                }
            }
            if let oneIn = state.faultOneIn, Int.random(in: 0..<oneIn, using: &state.random) == 0 {
                state.countFault()
                return .failed(EIO)
            }
            return .done
        }
    }

    /// Applies a change of names, whole or not at all.
    private func change(
        _ paths: [String], _ change: NameTable.Change, _ call: () -> Int32
    ) -> Int32 {
        switch fate(paths) {
        case .failed(let code):
            errno = code
            return -1
        case .last:
            errno = ESRCH
            return -1
        case .done:
            guard call() == 0 else { return -1 }
            state.withLock { state in
                state.names.apply(change)
                state.changes.append(change)
            }
            return 0
        }
    }

    package func open(_ path: String, flags: Int32, mode: UInt32) -> Int32 {
        let isNew = !FileSystem.exists(path)
        if isNew {
            guard case .done = fate([path]) else {
                errno = EIO
                return -1
            }
        } else if state.withLock({ $0.isDead }) {
            errno = ESRCH
            return -1
        }
        let descriptor = system.open(path, flags: flags, mode: mode)
        guard descriptor >= 0 else { return -1 }
        state.withLock { state in
            if isNew {
                let number = state.nextFile
                state.nextFile += 1
                state.files[number] = FaultyFile([])
                state.names.apply(.link(path, number))
                state.changes.append(.link(path, number))
            }
            guard case .file(let number) = state.names[path] else {
                preconditionFailure("\(path) was not made through this disk")
            }
            state.open[descriptor] = number
        }
        return descriptor
    }

    package func close(_ descriptor: Int32) {
        state.withLock { $0.open[descriptor] = nil }
        system.close(descriptor)
    }

    package func write(
        _ descriptor: Int32, _ parts: ArraySlice<UnsafeRawBufferPointer>, at offset: Int64
    ) -> Int {
        var bytes = parts.flatMap { Array($0) }
        let fate = fate(paths(of: descriptor))
        var code: Int32?
        switch fate {
        case .failed(let failure):
            errno = failure
            return -1
        case .last:
            // Linux checks for signals between two pages.
            code = ESRCH
            let cut = state.withLock { Int.random(in: 0...bytes.count, using: &$0.random) }
            let end = (Int(offset) + cut) / FaultyFile.pageBytes * FaultyFile.pageBytes
            bytes.removeLast(bytes.count - max(0, end - Int(offset)))
        case .done:
            break
        }
        let end = Int(offset) + bytes.count
        let count = state.withLock { state in
            guard let number = state.open[descriptor], let file = state.files[number] else {
                return 0
            }
            let growth = max(0, end - file.cached.count)
            let room = max(0, (state.capacityBytes ?? .max) - state.usedBytes)
            if growth > room { code = code ?? ENOSPC }
            let count = max(0, bytes.count - max(0, growth - room))
            state.files[number]?.write(bytes.prefix(count), at: Int(offset))
            return count
        }
        let written = bytes.withUnsafeBytes {
            pwrite(descriptor, $0.baseAddress, count, off_t(offset))
        }
        precondition(written == count || code != nil, "a simulated disk has room")
        if let code, count == 0 || code == ESRCH {
            errno = code
            return -1
        }
        return count
    }

    package func truncate(_ descriptor: Int32, to sizeBytes: Int64) -> Int32 {
        guard case .done = fate(paths(of: descriptor)) else {
            errno = EIO
            return -1
        }
        state.withLock { state in
            if let number = state.open[descriptor] {
                state.files[number]?.truncate(to: Int(sizeBytes))
            }
        }
        return system.truncate(descriptor, to: sizeBytes)
    }

    package func synchronize(_ descriptor: Int32) -> Int32 {
        let fate = fate(paths(of: descriptor))
        return state.withLock { state in
            guard let number = state.open[descriptor] else { return 0 }
            switch fate {
            case .done:
                if !state.ignoresSynchronization { state.files[number]?.synchronize() }
                return 0
            case .last:
                errno = ESRCH
                return -1
            case .failed(let code):
                // On Linux, pages that failed to be written count as clean afterwards, and the next call succeeds. A
                // dead process makes no call, and its writes are in the page cache.
                if !state.isDead { state.files[number]?.losePages() }
                errno = code
                return -1
            }
        }
    }

    package func startWriteback(_ descriptor: Int32, from offset: Int64, count: Int64) {}

    package func synchronizeFileSystem(of directory: String) -> Int32 {
        guard case .done = fate([directory]) else {
            errno = EIO
            return -1
        }
        state.withLock { state in
            guard !state.ignoresSynchronization else { return }
            for number in state.files.keys { state.files[number]?.synchronize() }
            state.durableNames = state.names
            state.changes = []
        }
        return 0
    }

    package func forget(_ descriptor: Int32, from offset: Int64) {
        let bytes: [UInt8]? = state.withLock { state in
            guard let number = state.open[descriptor], let before = state.files[number]?.cached
            else { return nil }
            state.files[number]?.forget(from: Int(offset))
            let after = state.files[number]?.cached
            return after == before ? nil : after
        }
        guard let bytes else { return }
        let parts = bytes.withUnsafeBytes { system.write(descriptor, [$0][...], at: 0) }
        precondition(parts == bytes.count, "a simulated disk has room")
    }

    package func synchronizeDirectory(_ path: String) -> Int32 {
        guard case .done = fate([path]) else {
            errno = EIO
            return -1
        }
        guard FileSystem.isDirectory(path) else {
            errno = ENOENT
            return -1
        }
        state.withLock { state in
            state.durableNames = state.names
            state.changes = []
        }
        return 0
    }

    package func makeDirectory(_ path: String) -> Int32 {
        change([path], .makeDirectory(path)) { system.makeDirectory(path) }
    }

    package func rename(_ path: String, to new: String) -> Int32 {
        change([path, new], .rename(path, new)) { system.rename(path, to: new) }
    }

    package func unlink(_ path: String) -> Int32 {
        guard FileSystem.exists(path) else {
            errno = ENOENT
            return -1
        }
        return change([path], .unlink(path)) { system.unlink(path) }
    }

    package func removeDirectory(_ path: String) -> Int32 {
        change([path], .unlink(path)) { system.removeDirectory(path) }
    }

    private func paths(of descriptor: Int32) -> [String] {
        state.withLock { state in
            guard !state.badPaths.isEmpty, let number = state.open[descriptor] else { return [] }
            return state.names.paths(of: number)
        }
    }
}

extension FaultyDisk.State {
    fileprivate var usedBytes: Int {
        names.files.reduce(0) { $0 + (files[$1]?.cached.count ?? 0) }
    }
}
