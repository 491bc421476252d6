// Boxes that come with a one-time key. Whether it is good, and what it is exchanged for, is decided where the keys are.
extension CollectorLink {
    /// What became of an ``Enrol``.
    package enum EnrolmentOutcome: Hashable, Sendable {
        case enrolled(Enrolled)
        /// One line that says why not, and what to do.
        case refused(String)
    }

    /// One is worked on for each connection, and ends it: what a stranger may ask of the disk is bounded by the connections
    /// that it may have.
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
            return refuseIt(.malformed, "Enrol came behind Hello: it has a connection of its own")
        }
        guard enrolling.updateValue(message.address, forKey: message.peer) == nil else { return [] }
        return [.enrol(message.peer, enrol)]
    }

    /// An ``Enrol`` has been worked on: tells its sender, and ends the connection.
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
