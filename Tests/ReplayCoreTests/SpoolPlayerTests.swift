import Foundation
import ReplayCore
import Spooling
import Testing
import TestRecordings

@Suite struct SpoolPlayerTests {
    /// What the agent sent in the meantime was sent twice, or not at all.
    @Test func `the spool of a running agent is refused`() throws {
        let directory = TemporaryDirectory()
        let storage = try DirectoryStorage(path: directory.path)
        let error = #expect(throws: ReplayError.self) {
            _ = try SpoolPlayer(directory.path, name: "camera")
        }
        #expect("\(try #require(error))".contains("is in use by an agent"))
        storage.close()
        let other = #expect(throws: ReplayError.self) {
            _ = try SpoolPlayer(directory.path, name: "camera")
        }
        #expect("\(try #require(other))".contains("holds no readable samples"))
    }
}
