import Messaging

@testable import Trust

/// Hand-written key files and copied keys.
enum KeysTarget {
    static func run(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        do throws(TrustError) {
            let agent = try Authorization(name: "box", file: text, path: "box.pub")
            let again = try Authorization(name: "box", file: agent.fileText, path: "box.pub")
            precondition(again == agent, "\(agent) became \(again)")
        } catch {
            precondition(!error.description.isEmpty)
        }
        do throws(TrustError) {
            let key = try PublicKey(text: text)
            precondition(key.text == text.lowercased())
        } catch {
            precondition(!error.description.isEmpty)
        }
    }
}
