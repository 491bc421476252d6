// What the page uses of WebCodecs: Debian's TypeScript is older than its declarations.

interface VideoFrame {
    readonly timestamp: number;
    readonly duration: number | null;
    readonly displayWidth: number;
    readonly displayHeight: number;
    close(): void;
}

interface EncodedVideoChunkInit {
    type: 'key' | 'delta';
    timestamp: number;
    duration?: number;
    data: BufferSource;
}

declare class EncodedVideoChunk {
    constructor(init: EncodedVideoChunkInit);
}

interface VideoDecoderConfig {
    codec: string;
    description?: BufferSource;
    optimizeForLatency?: boolean;
}

declare class VideoDecoder {
    constructor(init: { output: (frame: VideoFrame) => void; error: (error: DOMException) => void });
    static isConfigSupported(config: VideoDecoderConfig): Promise<{ supported: boolean }>;
    readonly state: 'unconfigured' | 'configured' | 'closed';
    readonly decodeQueueSize: number;
    configure(config: VideoDecoderConfig): void;
    decode(chunk: EncodedVideoChunk): void;
    close(): void;
}

interface CanvasDrawImage {
    drawImage(image: CanvasImageSource | VideoFrame, x: number, y: number, width: number, height: number): void;
}

interface EncodedAudioChunkInit {
    type: 'key' | 'delta';
    timestamp: number;
    duration?: number;
    data: BufferSource;
}

declare class EncodedAudioChunk {
    constructor(init: EncodedAudioChunkInit);
}

declare class AudioData {
    readonly numberOfChannels: number;
    readonly numberOfFrames: number;
    readonly timestamp: number;
    copyTo(destination: BufferSource, options: { planeIndex: number; format?: string }): void;
    close(): void;
}

interface AudioDecoderConfig {
    codec: string;
    sampleRate: number;
    numberOfChannels: number;
    description?: BufferSource;
}

declare class AudioDecoder {
    constructor(init: { output: (data: AudioData) => void; error: (error: DOMException) => void });
    readonly state: 'unconfigured' | 'configured' | 'closed';
    readonly decodeQueueSize: number;
    configure(config: AudioDecoderConfig): void;
    decode(chunk: EncodedAudioChunk): void;
    flush(): Promise<void>;
    close(): void;
    static isConfigSupported(config: AudioDecoderConfig): Promise<{ supported?: boolean }>;
}
