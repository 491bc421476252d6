import Foundation
import Glibc
import Media

@testable import RTSP

/// A network camera on this machine: answers requests by a script, on a thread of its own.
final class LoopbackCamera: Sendable {
    /// - Parameters:
    ///   - method: of the request.
    ///   - sequence: its `CSeq`.
    /// - Returns: the bytes of the answer, and what follows it; nil: no answer.
    typealias Script = @Sendable (_ method: String, _ sequence: String) -> [UInt8]?

    let port: UInt16
    private let listener: Int32

    init(_ script: @escaping Script) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        precondition(isBound && listen(listener, 4) == 0, "the loopback interface has ports")
        port = UInt16(bigEndian: name.sin_port)
        self.listener = listener
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                Self.serve(connection, script)
                close(connection)
            }
            close(listener)
        }
    }

    // The thread closes it: until then, no other socket has its number.
    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    func url(_ scheme: String = "rtsp") throws -> RTSPURL {
        try RTSPURL(parsing: "\(scheme)://127.0.0.1:\(port)/live")
    }

    private static func serve(_ connection: Int32, _ script: Script) {
        var waiting: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let end = Array("\r\n\r\n".utf8)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            waiting += buffer[..<count]
            while !waiting.isEmpty {
                if waiting[0] == UInt8(ascii: "$") {
                    guard waiting.count >= 4 else { break }
                    let size = 4 + Int(waiting[2]) << 8 + Int(waiting[3])
                    guard waiting.count >= size else { break }
                    waiting.removeFirst(size)
                    continue
                }
                guard let head = waiting.firstRange(of: end) else { break }
                let lines = String(decoding: waiting[..<head.lowerBound], as: UTF8.self)
                    .components(separatedBy: "\r\n")
                waiting.removeFirst(head.upperBound)
                let method = lines[0].prefix { $0 != " " }
                let sequence = lines.first { $0.hasPrefix("CSeq: ") }?.dropFirst(6) ?? "0"
                guard let answer = script(String(method), String(sequence)) else { continue }
                _ = answer.withUnsafeBytes {
                    send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
            }
        }
    }
}

extension LoopbackCamera {
    /// A camera that plays.
    /// - Parameters:
    ///   - media: the media of its description.
    ///   - packets: on channel 0, sent with the answer to PLAY.
    convenience init(_ media: String, packets: [RTPPacket] = []) {
        let transport = "RTP/AVP/TCP;unicast;interleaved=0-1"
        let description = "v=0\r\ns=x\r\na=control:*\r\n\(media)"
        self.init { method, sequence in
            let head = "RTSP/1.0 200 OK\r\nCSeq: \(sequence)\r\nSession: 7\r\n"
            switch method {
            case "OPTIONS": return Array("\(head)\r\n".utf8)
            case "DESCRIBE":
                return Array(
                    "\(head)Content-Length: \(description.utf8.count)\r\n\r\n\(description)".utf8)
            case "SETUP": return Array("\(head)Transport: \(transport)\r\n\r\n".utf8)
            case "PLAY":
                return packets.reduce(into: Array("\(head)\r\n".utf8)) { bytes, packet in
                    let own = packet.bytes
                    bytes += [0x24, 0, UInt8(own.count >> 8), UInt8(own.count & 255)] + own
                }
            default: return nil
            }
        }
    }
}
