import Foundation
import Testing

@testable import ViewerCore

/// What browsers load.
@Suite struct PageTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/ViewerCore/Resources/page")

    @Test func `every file of the folder is in the program, byte for byte`() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(names) == Set(PageFile.all.keys))
        for (name, file) in PageFile.all {
            let bytes = try [UInt8](Data(contentsOf: Self.folder.appending(path: name)))
            #expect(file.bytes == bytes, "\(name)")
        }
    }

    /// It works where there is no other host.
    @Test func `no file names another host, and scripts import what is there`() throws {
        for (name, file) in PageFile.all {
            let text = String(decoding: file.bytes, as: UTF8.self)
            for match in text.matches(of: /https?:\/\/([a-z0-9.]+)/) {
                #expect(match.1 == "www.w3.org", "\(name)")
            }
            for match in text.matches(of: /(?:from |import\()'\.\/([^']+)'/) {
                #expect(PageFile.all[String(match.1)] != nil, "\(name): \(match.1)")
            }
            for match in text.matches(of: /"\/page\/([a-z.-]+)"/) {
                #expect(PageFile.all[String(match.1)] != nil, "\(name): \(match.1)")
            }
        }
    }

    @Test(arguments: [
        ("/", true), ("/live", true), ("/sessions/2026-11-20T22-40-00.000Z", true),
        ("/page/main.js", true), ("/api/v1/sessions", false), ("/hls/a/index.m3u8", false),
        ("/metrics", false), ("/sessionsx", false),
    ])
    func `the page needs no log-in, and nothing else is opened with it`(
        path: String, isOpen: Bool
    ) {
        #expect(PageAPI.isOpen(path) == isOpen)
    }
}
