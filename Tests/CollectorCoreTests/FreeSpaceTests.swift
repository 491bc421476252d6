import Archive
import Synchronization
import Testing

@testable import CollectorCore

@Suite struct FreeSpaceTests {
    private final class Disk: Sendable {
        let free: Mutex<UInt64>
        let asked = Mutex(0)

        init(free: UInt64) {
            self.free = Mutex(free)
        }

        func space(reserve: UInt64?) -> FreeSpace {
            FreeSpace(reserveBytes: reserve, directory: "/") { _ throws(ArchiveError) in
                self.asked.withLock { $0 += 1 }
                return (self.free.withLock { $0 }, 1_000_000)
            }
        }
    }

    @Test func `the reserve is never written into`() throws {
        let disk = Disk(free: 1_000)
        var space = disk.space(reserve: 400)
        try space.claim(600, for: "file")
        disk.free.withLock { $0 = 400 }
        #expect(
            throws: ArchiveError.noRoom(path: "file", freeBytes: 400, reserveBytes: 400)
        ) { try space.claim(1, for: "file") }
        // Space is freed.
        disk.free.withLock { $0 = 500 }
        try space.claim(100, for: "file")
    }

    @Test
    func `the disk is asked again when others may have written, not for every claim`() throws {
        let disk = Disk(free: 1_000)
        var space = disk.space(reserve: 0)
        for _ in 0..<5 { try space.claim(100, for: "file") }
        #expect(disk.asked.withLock { $0 } == 1)
        disk.free.withLock { $0 = 10 }
        space.forget()
        #expect(throws: ArchiveError.self) { try space.claim(100, for: "file") }
    }

    @Test func `on a small disk 5 % stay free`() throws {
        let disk = Disk(free: 50_100)
        var space = disk.space(reserve: nil)
        try space.claim(100, for: "file")
        disk.free.withLock { $0 = 50_000 }
        #expect(throws: ArchiveError.self) { try space.claim(1, for: "file") }
        #expect(FreeSpace.defaultReserve(ofDiskWith: 4_000_000_000_000) == 1_000_000_000)
    }
}
