@testable import Wire

/// A header part: it decodes to a message or an error, and a message survives a round trip.
enum WireTarget {
    static func run(_ bytes: [UInt8]) {
        _ = bytes.withUnsafeBytes { ClockReply.bytes(answering: $0, receivedAt: 1) { 2 } }
        _ = bytes.withUnsafeBytes { WireMessage.mayWait($0) }
        feed(bytes)
        let message: WireMessage
        do throws(WireError) {
            message = try WireMessage(decoding: bytes)
        } catch {
            precondition(!error.description.isEmpty)
            return
        }
        if case .unknown = message { return }
        do throws(WireError) {
            let again = try WireMessage(decoding: message.encoded())
            precondition(again == message, "\(message) became \(again)")
        } catch {
            preconditionFailure("\(message) cannot be read again: \(error)")
        }
    }

    /// The same for a message of a feed.
    private static func feed(_ bytes: [UInt8]) {
        do throws(WireError) {
            let message = try FeedMessage(decoding: bytes)
            if case .unknown = message { return }
            let again = try FeedMessage(decoding: message.encoded())
            precondition(again == message, "\(message) became \(again)")
        } catch {
            precondition(!error.description.isEmpty)
        }
    }
}
