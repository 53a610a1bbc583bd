# phrases.pl FILE... -- prints FILE:LINE: [NAME] TEXT for each phrase that a reader stumbles over, in prose: comments and
# strings of code, whole pages. Each row: a name, what to write instead, the phrase.
use strict;
use warnings;

my $per = 'second|step|process|thread|row|line|kernel|launch|series|sample|file|rank|device|side|name|stream|rule|byte|'
    . 'word|value|tool|wing|layer|kind|event|trace|column|node|run|pair|pass|lane|producer|record';
my $many = 'a|one|once|twice|rows?|lines?|bytes|operations|[num]s|[KMG]B|nodes|things|steps?';
my @phrases = (
    ['is no', 'is not a', qr/(?<!there )(?<!There )\b(?:is|are|was|were) no (?!longer|more|less|fewer|other|later)[a-z]/],
    ['a ... a', 'per', qr/\b(?!bytes a (?:kernel|trace|file)\b)(?:$many) a (?:$per)s?\b|\btimes a step\b/],
    ['told', 'reported', qr/\b(?:is|are|was|were|be|been|it) told(?! to\b)|\btells? (?:of|by)\b|\btold (?:by|apart|under)\b/],
    ['else', 'otherwise', qr/(?<!nothing )(?<!anything )(?<!everything )(?<!somewhere )(?<!something )(?<=[^\s*] )else(?:[.;:)]|$)|[,;] else\b/],
    ['alone', 'only', qr/(?<!left)(?<!leave)(?<!leaves)(?<!stand)(?<!stands) alone(?:[,;:)]|\.?$|\. | can\b| has\b| tells?\b)/],
    ['to be had', 'there is', qr/\b(?:to|can|could) be had\b/],
    ['as far as it goes', 'possible', qr/\bas far as (?:it|they) go(?:es)?\b/],
    ['nobody knows', 'unknown', qr/\bnobody knows\b/],
    ['found by themselves', 'detected', qr/\bby (?:itself|themselves)\b(?=\)|$)/],
    ['would not', 'not expected', qr/\bas this recording tells\b|\bas far as (?:this|the) (?:trace|recording) tells\b/],
);

# Everything but comments and strings becomes blanks; lines stay where they are.
sub prose_of_code {
    my ($s) = @_;
    my $out = '';
    while ($s =~ m{(/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|([^/"'`]+|.)}gs) {
        my ($kept, $code) = ($1, $2);
        $code =~ s/[^\n]/ /g if defined $code;
        $out .= defined $kept ? $kept : $code;
    }
    return $out;
}

# Of scripts the comments, and the names of tests.
sub prose_of_script {
    my ($s) = @_;
    return join "\n", map { /^test_expect_success[^']*'([^']*)/ ? $1 : /(?:^|\s)# (.*)/ ? $1 : '' } split /\n/, $s;
}

for my $file (@ARGV) {
    open my $in, '<', $file or next;
    my $text = do { local $/; <$in> };
    close $in;
    $text = prose_of_code($text) if $file =~ /\.(?:c|h|js|cu|cpp)$/;
    $text = prose_of_script($text) if $file =~ /\.(?:sh|t|py)$/ || $file =~ /CMakeLists\.txt$/;
    my $line = 0;
    for my $l (split /\n/, $text) {
        $line++;
        for my $p (@phrases) {
            print "$file:$line: [$p->[0]] ", substr($l, 0, 200), "  (write: $p->[1])\n" if $l =~ $p->[2];
        }
    }
}
