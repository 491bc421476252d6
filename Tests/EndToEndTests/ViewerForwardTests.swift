import Foundation
import Testing

extension EndToEnd {
    /// Live sources that the viewer forwards.
    @Suite(.serialized) struct ViewerForwardTests {
        private struct Forward: Decodable, Sendable {
            var source: String
            var file: String
            var state: String
            var starts: Int
            var sentBytes: Int
        }

        /// A UDP socket of this machine that receives MPEG-TS.
        private final class Receiver: Sendable {
            let port: UInt16
            private let descriptor: Int32

            init() throws {
                let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
                self.descriptor = descriptor
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
                var length = socklen_t(MemoryLayout<sockaddr_in>.size)
                let isBound = withUnsafeMutablePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        bind(descriptor, $0, length) == 0
                            && getsockname(descriptor, $0, &length) == 0
                    }
                }
                guard isBound else { throw StageFailure(description: "no UDP port") }
                port = UInt16(bigEndian: address.sin_port)
            }

            deinit { close(descriptor) }

            /// Number of packets of MPEG-TS that have arrived since the last call.
            func packets() -> Int {
                var bytes = [UInt8](repeating: 0, count: 2_048)
                var count = 0
                while true {
                    let size = recv(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
                    guard size > 0 else { return count }
                    count += stride(from: 0, to: size, by: 188).count { bytes[$0] == 0x47 }
                }
            }
        }

        /// A file with a destination.
        private func file(_ text: String, on stage: Stage, mode: mode_t = 0o600) throws -> String {
            let path = stage.directory.appending(path: "stage.url").path
            try Data("\(text)\n".utf8).write(to: URL(filePath: path))
            chmod(path, mode)
            return path
        }

        /// Processes of `tributary forward` with a file.
        private func processes(with file: String) throws -> [pid_t] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap { pid_t($0) }
                .filter { id in
                    // It may have ended.
                    let line = FileManager.default.contents(atPath: "/proc/\(id)/cmdline")
                    let words = String(decoding: line ?? Data(), as: UTF8.self).split(
                        separator: "\0")
                    return words.contains("--url-file=\(file)")
                        && words.first?.hasSuffix("/tributary") == true
                }
        }

        @Test(.enabled(if: Foreign.curl != nil, "curl asks"))
        func `a killed process is started again, and ends with the viewer`() async throws {
            try await Stage.with { stage in
                let receiver = try Receiver()
                let file = try file("udp://127.0.0.1:\(receiver.port)", on: stage)
                _ = try await stage.collector()
                _ = try stage.testAgent("stage")
                let served = try await ServedArchive(on: stage, "--forward", "stage=\(file)")
                try await eventually("packets arrive") { receiver.packets() > 0 }
                let first = try #require(try processes(with: file).first)
                // It has no connection of the viewer.
                let links = try FileManager.default.contentsOfDirectory(
                    atPath: "/proc/\(first)/fd")
                #expect(links.count < 40)
                kill(first, SIGKILL)
                try await served.viewer.says("ended: the process ended with signal 9")
                _ = receiver.packets()
                try await eventually("packets arrive again") { receiver.packets() > 0 }
                let second = try #require(try processes(with: file).first)
                #expect(second != first)
                let answer = try await served.eventually("the status follows", "/api/v1/forwards") {
                    $0.text.contains(#""starts" : 2"#) && $0.text.contains(#""sending""#)
                }
                let all = try JSONDecoder().decode([Forward].self, from: answer.body)
                #expect(all.map(\.source) == ["stage"] && all.map(\.file) == ["stage.url"])
                #expect(try #require(all.first).sentBytes > 0)
                #expect(!answer.text.contains("udp://"))
                served.viewer.signal(SIGKILL)
                try await eventually("it ends with the viewer") {
                    try processes(with: file).isEmpty
                }
            }
        }

        @Test func `all processes end before the viewer does`() async throws {
            try await Stage.with { stage in
                let file = try file("udp://127.0.0.1:9", on: stage)
                let viewer = try stage.start(
                    .viewer,
                    ["--archive", stage.archive, "--listen", "0", "--forward", "stage=\(file)"])
                try await viewer.says("started")
                try await eventually("it runs") { try !processes(with: file).isEmpty }
                viewer.signal(SIGTERM)
                try await viewer.succeeds()
                #expect(try processes(with: file).isEmpty)
            }
        }

        @Test func `wrong entries are refused at the start, and when options are checked`()
            async throws
        {
            try await Stage.with { stage in
                let readable = try file("udp://secret", on: stage, mode: 0o644)
                let cases: [([String], Int32, String)] = [
                    (["stage"], 64, "write SOURCE=FILE"),
                    (["stage=/nowhere/a.url"], 1, "/nowhere/a.url does not exist"),
                    (["stage=\(readable)"], 1, "chmod 600 \(readable)"),
                    (["stage=\(readable)", "stage=\(readable)"], 64, "is given twice"),
                ]
                for (entries, status, words) in cases {
                    for check in [[], ["--check-config"]] {
                        let outcome = try await stage.start(
                            .viewer,
                            ["--archive", stage.archive, "--listen", "0"] + check
                                + entries.flatMap { ["--forward", $0] }
                        ).outcome()
                        #expect(outcome.status == status)
                        #expect(outcome.complaintLines.count == 1)
                        #expect(outcome.complaints.contains(words), "\(outcome.complaints)")
                        #expect(!outcome.complaints.contains("secret"))
                    }
                }
                let two = try await stage.run(
                    .viewer, "--archive", "/a", "--archive", "/b", "--listen", "0", "--forward",
                    "stage=/x")
                #expect(two.status == 64 && two.complaints.contains("--forward needs the feed"))
            }
        }
    }
}
