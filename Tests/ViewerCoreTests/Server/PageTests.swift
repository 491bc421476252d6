import Foundation
import Testing

@testable import ViewerCore

/// The documents and modules that browsers load.
@Suite struct PageTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/CViewerPage/page")

    @Test func `every file of the folder is in the program, byte for byte`() throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.path)
            .filter { $0.contains(".") }
        // Addresses have no folders.
        #expect(paths.count == PageFile.all.count)
        for path in paths {
            let bytes = try [UInt8](Data(contentsOf: Self.folder.appending(path: path)))
            let name = path.split(separator: "/").last.map { String($0) } ?? path
            #expect(PageFile.all[name]?.bytes == bytes, "\(path)")
        }
    }

    /// It works where there is no other host.
    @Test func `no file names another host, and all imports exist`() throws {
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

    /// A browser that requests all of them together has them after one round trip.
    @Test(arguments: PageDocument.allCases)
    func `each document preloads every module that it imports`(
        place: PageDocument
    ) throws {
        let file = try #require(PageDocument.files[place])
        let text = String(decoding: file.bytes, as: UTF8.self)
        let named = text.matches(of: /<link rel="modulepreload" href="\/page\/([^"]+)">/)
            .map { String($0.1) }
        #expect(Set(named).count == named.count)
        #expect(named.contains(place.module))
        guard place != .embed else { return #expect(!named.contains("main.js")) }
        #expect(named.contains("main.js"))
        for name in named {
            let script = try #require(PageFile.all[name], "\(name)")
            for match in String(decoding: script.bytes, as: UTF8.self)
                .matches(of: /from '\.\/([^']+)'/)
            {
                #expect(named.contains(String(match.1)), "\(name): \(match.1)")
            }
        }
        let main = String(decoding: PageFile.all["main.js"]?.bytes ?? [], as: UTF8.self)
        #expect(main.contains("import('./\(place.module)')"))
    }

    @Test(arguments: [
        ("/", PageDocument.live), ("/live", .live), ("/sessions", .sessions),
        ("/sessions/2026-11-20T22-40-00.000Z", .playback), ("/health", .health),
        ("/calendar", .calendar), ("/account", .account), ("/embed/stage", .embed),
    ])
    func `each path has its document`(path: String, place: PageDocument) {
        #expect(PageDocument(path: path) == place)
    }

    /// Everything together, as a browser is sent it.
    @Test func `each document with all that it loads is less than 100 kB`() throws {
        for place in PageDocument.allCases {
            let styles = PageFile.all.filter {
                $0.key.hasSuffix(".css") && ($0.key != "embed.css" || place == .embed)
            }.values
            let modules = PageDocument.modules(from: ["main.js", place.module])
            let parts =
                try modules.map { try #require(PageFile.all[$0]) } + styles
                + [#require(PageDocument.files[place])]
            #expect(parts.reduce(0) { $0 + $1.compressedBytes } < 100_000, "\(place)")
        }
    }

    @Test(arguments: [
        ("/", true), ("/live", true), ("/calendar", true),
        ("/sessions/2026-11-20T22-40-00.000Z", true),
        ("/page/main.js", true), ("/api/v1/sessions", false), ("/hls/a/index.m3u8", false),
        ("/metrics", false), ("/sessionsx", false), ("/embed/stage", true),
        ("/api/v1/live", false),
    ])
    func `the page is public, and other paths are not`(
        path: String, isOpen: Bool
    ) {
        #expect(PageAPI.isOpen(path) == isOpen)
    }
}
