import Foundation
import Testing

@testable import Terminal

struct `A configuration that is changed` {
    private func entries(_ text: ConfigurationText) throws -> [String: String] {
        let file = try ConfigurationFile(path: "x.yaml", bytes: Array(text.text.utf8))
        return Dictionary(uniqueKeysWithValues: file.entries.map { ($0.name, $0.value) })
    }

    @Test func `keeps all other lines when an option is set`() throws {
        let before = """
            # Where the collector listens.
            #collector: tcp://127.0.0.1:5550
            #collector-key: KEY
            video: first
            #audio: first

            """
        var text = ConfigurationText(before)
        text.set("collector", to: "tcp://server:5550")
        #expect(
            text.text
                == before.replacing(
                    "#collector: tcp://127.0.0.1:5550", with: "collector: tcp://server:5550"))
        text.set("video", to: "test")
        text.set("collector", to: "tcp://other:1")
        text.set("source", to: "camera1")
        #expect(
            try entries(text) == [
                "collector": "tcp://other:1", "video": "test", "source": "camera1",
            ])
        #expect(text.text.hasSuffix("\nsource: camera1\n"))
    }

    @Test func `is written beside a leftover of a killed program`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-configuration-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: "agent.yaml").path
        let leftover = "\(path).\(getpid()).new"
        try Data("rest".utf8).write(to: URL(filePath: leftover))
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -7_200)], ofItemAtPath: leftover)
        try ConfigurationText("video: test\n").write(to: path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "video: test\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).count == 1)
    }

    @Test func `with lines that end as on Windows keeps all of them`() throws {
        var text = ConfigurationText("collector: tcp://a:1\r\nvideo: first\r\n#source: KEY\r\n")
        text.set("collector", to: "tcp://b:2")
        text.set("source", to: "stage")
        text.set("keys", to: "/k")
        #expect(
            text.text
                == "collector: tcp://b:2\r\nvideo: first\r\nsource: stage\r\nkeys: /k\r\n")
        #expect(
            try entries(text) == [
                "collector": "tcp://b:2", "video": "first", "source": "stage", "keys": "/k",
            ])
    }

    @Test(arguments: ["{video: test}\n", "collector: |\n  a\nvideo: test\n", "'collector': a\n"])
    func `is refused if the option's line cannot be replaced`(before: String) throws {
        var text = ConfigurationText(before)
        try text.validate(path: "x.yaml")
        text.set("collector", to: "tcp://b:2")
        #expect(throws: ConfigurationError.self) { try text.validate(path: "x.yaml") }
    }

    @Test(arguments: [
        "tcp://[::1]:5550", "a b", "it's", "# no remark", "yes", "-", "a:", "x: y", "~", "", "'",
        "{}", "\"",
    ])
    func `reads back the value that was set`(value: String) throws {
        var text = ConfigurationText("")
        text.set("name", to: value)
        let read = try entries(text)["name"] ?? ""
        #expect(read == value)
    }

    @Test func `is replaced atomically, with its permissions`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appending(path: "tributary-text-\(UUID().uuidString)")
        defer {
            do { try FileManager.default.removeItem(at: directory) } catch { Issue.record(error) }
        }
        let path = directory.appending(path: "deep/agent.yaml").path
        #expect(try ConfigurationText(path: path) == nil)
        try ConfigurationText.makeDirectory(for: path)
        try ConfigurationText("video: test\n").write(to: path)
        chmod(path, 0o640)
        try ConfigurationText("video: first\n").write(to: path)
        #expect(try ConfigurationText(path: path)?.text == "video: first\n")
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o640)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.path + "/deep")
                == ["agent.yaml"])
        try "video: [".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: ConfigurationError.self) { try ConfigurationText(path: path) }
    }
}
