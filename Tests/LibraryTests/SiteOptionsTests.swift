import ArgumentParser
import Foundation
import Glibc
import Library
import Terminal
import Testing

/// The files that give access to other machines' archives.
struct SiteOptionsTests {
    @Test func `token and certificate authority files are validated with the options`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "tributary-site-options-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer {
            do {
                try FileManager.default.removeItem(at: folder)
            } catch {
                Issue.record("\(error)")
            }
        }
        let (token, authorities, pipe) = (
            folder.appending(path: "token").path, folder.appending(path: "ca.pem").path,
            folder.appending(path: "pipe").path
        )
        try Data(String(repeating: "t", count: 44).utf8).write(to: URL(filePath: token))
        chmod(token, 0o600)
        try Data("certificates".utf8).write(to: URL(filePath: authorities))
        chmod(authorities, 0o644)
        mkfifo(pipe, 0o600)

        func complaint(_ authorities: String) throws -> String? {
            let options = try SiteOptions.parse([
                "--site-token-file", token, "--site-ca-file", authorities,
            ])
            do throws(Failure) {
                return try options.access()?.authorities == authorities ? nil : "other authorities"
            } catch {
                return "\(error)"
            }
        }
        #expect(try complaint(authorities) == nil)
        #expect(try complaint("\(authorities).old")?.contains("there is no") == true)
        // A pipe without a writer is not waited for.
        #expect(try complaint(pipe)?.contains("is not a regular file") == true)
        chmod(authorities, 0o666)
        #expect(try complaint(authorities)?.contains("chmod go-w \(authorities)") == true)
        #expect(throws: (any Error).self) { try SiteOptions.parse(["--site-ca-file", token]) }
    }
}
