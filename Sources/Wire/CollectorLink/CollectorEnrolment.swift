// Enrolment of boxes that connect with a one-time key. The authenticator decides whether the key is valid and what it
// is exchanged for.
extension CollectorLink {
    /// The result of an ``Enrol``.
    package enum EnrolmentOutcome: Hashable, Sendable {
        case enrolled(Enrolled)
        /// One line with the reason and the remedy.
        case refused(String)
    }

    /// Each connection may send one, after which it is closed: the number of connections bounds the disk operations
    /// that an unknown peer can cause.
    mutating func take(
        _ enrol: Enrol, from message: IncomingMessage, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        func refuseIt(_ reason: RefusalReason, _ text: String) -> [CollectorAction] {
            refuse(message.peer, reason, text, address: message.address, now: now, durable: durable)
        }
        if isStopping { return refuseIt(.stopping, "the collector is stopping") }
        guard message.right != nil else {
            return refuseIt(
                .enrolment, "this collector uses no keys: there is nothing to enrol for")
        }
        guard connections[message.peer] == nil, claims[message.peer] == nil else {
            return refuseIt(.malformed, "Enrol after Hello: it needs its own connection")
        }
        guard enrolling.updateValue(message.address, forKey: message.peer) == nil else { return [] }
        return [.enrol(message.peer, enrol)]
    }

    /// An ``Enrol`` has been processed: notifies its sender, and closes the connection.
    package mutating func enrolled(
        _ peer: PeerID, _ outcome: EnrolmentOutcome, now: Int64, durable: some DurabilityLookup
    ) -> [CollectorAction] {
        guard let address = enrolling.removeValue(forKey: peer) else { return [] }
        switch outcome {
        case .enrolled(let enrolled):
            return [.send(peer, WireMessage.enrolled(enrolled).encoded()), .dismissed(peer)]
        case .refused(let text):
            return refuse(peer, .enrolment, text, address: address, now: now, durable: durable)
        }
    }
}
