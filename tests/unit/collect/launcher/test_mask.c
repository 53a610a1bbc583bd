// Command lines without secrets: each known form, and arguments that are none.
#include <string.h>
#include "collect/launcher/about.h"
#include "formats/base/buf.h"
#include "formats/base/count.h"
#include "tests/unit/unit.h"

struct example {
    const char *previous, *arg, *want;
};

static void assert_examples(const struct example *at, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct gp_buf b = {0};
        gp_mask_put(&b, at[i].previous, at[i].arg);
        assert_string_equal(gp_buf_str(&b), at[i].want);
        gp_buf_release(&b);
    }
}

TEST(each_known_form_is_masked)
{
    static const struct example all[] = {
        {"--api-key", "LEAKED", "***"},
        {"run", "--api-key=LEAKED", "--api-key=***"},
        {"-H", "Authorization: Bearer LEAKED", "Authorization: ***"},
        {"app", "https://user:LEAKED@host/x", "https://***"},
        {"login", "0123456789abcdef0123456789abcdef01234567", "***"},
        {"app", "hf_LEAKEDabcdefghijklmnopqrstuvw", "***"},
        {"app", "ghp_LEAKEDabcdefghijklmnopqrstuvwxyz01", "***"},
        {"-c", "export FOO=1; API_KEY=LEAKED app", "export FOO=1; API_KEY=***"},
        {"-c", "app --api-key LEAKED", "app --api-key ***"},
        {"mysql", "-pLEAKED", "-p***"},
        {"app", "{\"password\": \"LEAKED\"}", "{\"password\": \"***"},
        {"--pwd", "LEAKED", "***"},
        {"--api-key", "-LEAKED", "***"},
        {"--dsn", "postgres://u:LEAKED@db/x", "postgres://***"},
        {"app", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJMRUFLRUQifQ.LEAKED", "***"},
        {"app", "--header=X-Trace: eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJMRUFLRUQifQ.L", "--header=X-Trace: ***"},
        {"--wandb.api_key", "LEAKED", "***"},
        {"app", "AZURE_CONN=AccountName=x;AccountKey=LEAKED==", "AZURE_CONN=AccountName=x;AccountKey=***"},
        {"--password:", "LEAKED", "***"},
        {"app", "https://x/SAS?sig=LEAKED", "https://x/SAS?sig=***"},
        {"env", "API_TOKEN=LEAKED", "API_TOKEN=***"},
        {"env", "PGPASS=LEAKED", "PGPASS=***"},
        {"-k", "LEAKED", "***"},
        {"sshpass", "-p", "-p"},
        {"-p", "LEAKED", "***"},
        {"-u", "me:LEAKED", "***"},
        {"app", "api_key:LEAKED", "api_key:***"},
        {"model.api_key", "LEAKED", "***"},
        {"API_KEY=", "LEAKED", "***"},
        {"app", "id=AKIAIOSFODNN7EXAMPLE", "id=***"},
        {"app", "x=0123456789abcdef0123456789abcdef", "x=***"},
        {"app", "sk-proj-LEAKED0123456789", "***"},
        {"-H", "Cookie: session=LEAKED", "Cookie: ***"},
        {"app", "http://host/?user=1&access_token=LEAKED&x=2", "http://host/?user=1&access_token=***"},
    };
    assert_examples(all, GP_COUNT(all));
}

TEST(ordinary_arguments_are_kept)
{
    static const char *const all[] = {"train.py",
                                      "--lr=0.1",
                                      "-",
                                      "--",
                                      "--data=/a/b/c",
                                      "--rdzv-endpoint=localhost:29500",
                                      "https://huggingface.co/meta-llama/Llama-3.1-8B",
                                      "meta-llama/Llama-3.1-8B-Instruct",
                                      "llama3-8b-bf16-batch32-sequence4096-adamw-cosine-run17",
                                      "git@github.com:me/project.git",
                                      "a1b2c3d",
                                      "{\"lr\": 0.1, \"layers\": [1, 2]}",
                                      "import torch; print(torch.__version__)",
                                      "hf_home",
                                      "日本語"};
    for (size_t i = 0; i < GP_COUNT(all); i++)
        assert_examples(&(struct example){i ? all[i - 1] : NULL, all[i], all[i]}, 1);
    assert_examples(&(struct example){"-u", "train.py", "train.py"}, 1);
    assert_examples(&(struct example){"-k", "-L", "-L"}, 1);
    assert_examples(&(struct example){"--key", "", ""}, 1);
    assert_examples(&(struct example){"app", "--key=", "--key="}, 1);
}
