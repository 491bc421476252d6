import Foundation
import Testing

/// Later builds equal tested ones: every fetched dependency is pinned.
@Suite struct RepeatabilityTests {
    @Test func `Package_swift names exact versions, and Package_resolved has the same`() throws {
        let manifest = try Repository.text("Package.swift")
        let resolved = try Repository.text("Package.resolved")
        let declarations = manifest.components(separatedBy: ".package(").dropFirst()
        #expect(declarations.count > 5)
        for declaration in declarations {
            let text = declaration.prefix { $0 != ")" }
            let match = try #require(
                text.firstMatch(of: /url: "([^"]+)",\s+exact: "([0-9.]+)"/),
                "no exact version: \(text)")
            let pin = try #require(
                resolved.range(of: "\"location\" : \"\(match.1)"), "not resolved: \(match.1)")
            #expect(
                resolved[pin.upperBound...].prefix(250).contains("\"version\" : \"\(match.2)\""),
                "another version of \(match.1) is resolved")
        }
    }

    @Test func `images are built from tags that are never moved`() throws {
        var count = 0
        let files = Repository.files(below: "deploy").filter {
            $0.contains("ockerfile") && !$0.hasSuffix(".dockerignore")
        }
        for path in files {
            let lines = try Repository.text(path).split(separator: "\n").map(String.init)
            // `ARG NAME=VALUE` before the first stage.
            var arguments: [String: String] = [:]
            var stages: Set<String> = []
            for line in lines {
                if let match = line.firstMatch(of: /^ARG ([A-Z_]+)=(.+)$/) {
                    arguments["${\(match.1)}"] = String(match.2)
                }
                let words = line.split(separator: " ").map(String.init)
                guard words.first == "FROM", words.count > 1 else { continue }
                if words.count > 3, words[2] == "AS" { stages.insert(words[3]) }
                if stages.contains(words[1]) { continue }
                let image = arguments.reduce(words[1]) { $0.replacing($1.key, with: $1.value) }
                // A whole version, a date, or a digest.
                let isFixed =
                    image.contains(/:[0-9]+\.[0-9]+\.[0-9]+(-|$)/)
                    || image.contains(/-20[0-9]{6}(-|$)/) || image.contains(/@sha256:[0-9a-f]{64}$/)
                #expect(isFixed, "\(path): \(image)")
                count += 1
            }
        }
        #expect(count >= 2)
        for path in Repository.files(below: "deploy") where !path.hasSuffix(".md") {
            #expect(try !Repository.text(path).contains(":latest"), "\(path)")
        }
    }
}
