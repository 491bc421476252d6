extension SpoolSet {
    /// Reads a directory's content: every file's header, and the newest file of every spool.
    ///
    /// Whatever the bytes are, the result is a set of spools whose missing numbers are all accounted for. A file that does not
    /// identify its spool, or that belongs to another spool than that in its name, is deleted, and reported.
    mutating func recover() throws(SpoolError) {
        var files: [UInt32: [UInt32]] = [:]
        var withSubstitutes: Set<UInt32> = []
        for name in try storage.names() {
            switch SpoolName(name) {
            case .file(let generation, let number): files[generation, default: []].append(number)
            case .substitutes(let generation): withSubstitutes.insert(generation)
            case .mark(let generation): marks.insert(generation)
            case nil:
                // Left by an interrupted write; other files do not belong to the spool.
                if name.hasSuffix(SpoolName.suffix + SpoolName.temporarySuffix) {
                    try storage.delete(name)
                }
            }
        }
        let generations = withSubstitutes.union(files.keys).sorted()
        newestGenerationFound = marks.union(generations).max()
        for generation in generations {
            let numbers = files[generation, default: []].sorted()
            let substitutes =
                withSubstitutes.contains(generation) ? try readSubstitutes(generation) : nil
            if let spool = try recover(generation, files: numbers, substitutes: substitutes) {
                spools.append(spool)
                // A killed process may have left them in the page cache only.
                for name in spool.fileNames { noteUnsynced(name) }
            }
        }
    }

    private mutating func recover(
        _ generation: UInt32, files numbers: [UInt32],
        substitutes: (header: SpoolFileHeader, list: [Spool.Substitute], sizeBytes: Int)?
    ) throws(SpoolError) -> Spool? {
        var spool: Spool?
        if let substitutes {
            spool = Spool(
                generation: generation, identity: substitutes.header.identity,
                origin: substitutes.header.origin)
            spool?.substitutes = substitutes.list
            spool?.substituteBytes = substitutes.sizeBytes
        }
        var isLastIntact = true
        for number in numbers {
            let name = SpoolName.file(generation, number)
            let header = readableHeader(of: name)
            isLastIntact = false
            guard let header, header.generation == generation, header.file == number,
                spool?.identity ?? header.identity == header.identity,
                header.firstNumber >= spool?.files.last?.numbers.upperBound ?? 0
            else {
                try discard(name, "its header is damaged")
                continue
            }
            isLastIntact = true
            // A power cut occurred between recording what was dropped and the deletion.
            if let dropped = spool?.substitutes,
                dropped.contains(where: { $0.numbers.contains(header.firstNumber) })
            {
                try storage.delete(name)
                continue
            }
            var current =
                spool
                ?? Spool(
                    generation: generation, identity: header.identity, origin: header.origin)
            if let last = current.files.indices.last {
                // Begun, without a record.
                if current.files[last].numbers.lowerBound == header.firstNumber {
                    try storage.delete(SpoolName.file(generation, current.files[last].number))
                    current.files.removeLast()
                }
            }
            if let last = current.files.indices.last {
                current.files[last].numbers =
                    current.files[last].numbers.lowerBound..<header.firstNumber
            }
            current.files.append(
                Spool.File(
                    number: number, numbers: header.firstNumber..<header.firstNumber,
                    sizeBytes: try storage.sizeBytes(of: name), beginsGroup: header.beginsGroup,
                    salt: header.salt))
            spool = current
        }
        guard var spool else { return nil }
        spool.nextFile = (numbers.last ?? 0) &+ 1
        spool.isTailCertain = isLastIntact
        try readTail(of: &spool)
        return spool.files.isEmpty && spool.substitutes.isEmpty ? nil : spool
    }

    /// Reads the newest file to its end, and determines where each file's numbers end.
    private mutating func readTail(of spool: inout Spool) throws(SpoolError) {
        if let last = spool.files.indices.last {
            let file = spool.files[last]
            let name = SpoolName.file(spool.generation, file.number)
            let bytes = readable(name, limitBytes: file.sizeBytes)
            if bytes == nil { spool.isTailCertain = false }
            if let bytes, let scan = SpoolScan(bytes) {
                spool.nextNumber = scan.nextNumber
                switch scan.tail {
                case .whole, .torn: break
                case .damaged:
                    spool.isTailCertain = false
                    complaints.append(
                        "\(storage.path)/\(name) is damaged after record \(scan.nextNumber - 1): "
                            + "\(bytes.count - scan.endBytes) bytes cannot be read")
                }
            }
            spool.files[last].numbers = file.numbers.lowerBound..<spool.nextNumber
            // Not even one complete record.
            if spool.nextNumber == file.numbers.lowerBound {
                try storage.delete(name)
                spool.files.removeLast()
            }
        }
        if let end = spool.substitutes.last?.numbers.upperBound {
            spool.nextNumber = max(spool.nextNumber, end + 1)
        }
        // Records that were dropped after a file do not belong to the file.
        for index in spool.files.indices {
            let numbers = spool.files[index].numbers
            let dropped = spool.substitutes.map(\.numbers.lowerBound)
                .first { $0 > numbers.lowerBound && $0 < numbers.upperBound }
            if let dropped { spool.files[index].numbers = numbers.lowerBound..<dropped }
        }
    }

    private mutating func readSubstitutes(
        _ generation: UInt32
    ) throws(SpoolError) -> (SpoolFileHeader, [Spool.Substitute], Int)? {
        let name = SpoolName.substitutes(generation)
        let bytes = readable(name, limitBytes: SpoolFormat.maximumBodyBytes) ?? []
        guard let scan = SpoolScan(bytes), scan.header.generation == generation else {
            try discard(name, "its header is damaged")
            return nil
        }
        let list: [Spool.Substitute] = scan.items.compactMap { item in
            guard case .record(let record) = item else { return nil }
            return Spool.Substitute(
                numbers: record.numbers, kind: record.kind, body: Array(bytes[record.body]))
        }
        return (scan.header, list, bytes.count)
    }

    /// Reads a file. If the disk cannot read it, complains and returns nil: the file counts as damaged.
    private mutating func readable(_ name: String, limitBytes: Int) -> [UInt8]? {
        do throws(SpoolError) {
            return try storage.read(name, at: 0, limit: limitBytes)
        } catch {
            complaints.append("\(error)")
            return nil
        }
    }

    private mutating func readableHeader(of name: String) -> SpoolFileHeader? {
        do throws(SpoolError) {
            return try header(of: name)
        } catch {
            complaints.append("\(error)")
            return nil
        }
    }

    private mutating func discard(_ name: String, _ reason: String) throws(SpoolError) {
        complaints.append("\(storage.path)/\(name) cannot be used and is deleted: \(reason)")
        try storage.delete(name)
    }
}
