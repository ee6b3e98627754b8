/** The AI SDK's validator probes for `eval`, which the content policy refuses and reports: it need not ask. */
import { config } from "zod/v4/core";

config({ jitless: true });
