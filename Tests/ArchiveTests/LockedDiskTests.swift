import Glibc
import Testing
import TestRecordings

@testable import Archive

@Suite struct LockedDiskTests {
    @Test func `nothing is created once the path leads to another archive or to none`() throws {
        let directory = TemporaryDirectory()
        let root = "\(directory.path)/archive"
        try FileSystem.makeDirectories(root)
        let disk = LockedDisk()
        let layout = ArchiveLayout(root: root, on: disk)
        let taken = try ArchiveLock.take(layout)
        let lock = try #require(taken)
        defer { withExtendedLifetime(lock) {} }
        disk.follow(lock)
        func makes(_ name: String) -> Bool {
            do throws(ArchiveError) {
                try FileSystem.makeDirectories(layout.session(name), on: disk)
                let file = "\(layout.session(name))/file"
                _ = try RecordingFile(creating: file, on: disk)
                return true
            } catch {
                #expect(error.isForAbsence)
                return false
            }
        }
        #expect(makes("one") && disk.isAttached())

        #expect(rename(root, root + ".away") == 0)
        #expect(!makes("two") && !disk.isAttached())
        #expect(!FileSystem.exists(root))

        // Another collector's archive, with its own lock.
        let other = ArchiveLayout(root: root)
        try FileSystem.makeDirectories(other.session("other"))
        #expect(!makes("two") && !disk.isAttached())
        let otherLock = try ArchiveLock.take(other)
        #expect(otherLock != nil)
        #expect(!makes("two") && !disk.isAttached())
        #expect(try other.sessionNames() == ["other"])
        withExtendedLifetime(otherLock) {}

        try FileSystem.removeTree(root)
        #expect(rename(root + ".away", root) == 0)
        #expect(makes("two") && disk.isAttached())
        #expect(try layout.sessionNames() == ["one", "two"])
    }
}
